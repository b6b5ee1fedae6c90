"""Text of the running Python: its documentation and that of installed packages, parsed, never imported."""

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, distributions
from pathlib import Path

from andrea_plugins.sources.registry.archives import Member, chosen
from andrea_plugins.sources.registry.recipe import Entry

_COPYLEFT = ("gpl", "general public", "mozilla", "mpl")


def local_members(entry: Entry) -> Iterator[Member]:
    """Yield the members that an entry with `runtime` reads, sorted; none where this Python lacks them."""
    place, _, names = entry.runtime.partition(":")
    if place == "stdlib":
        yield from _sources(Path(sysconfig.get_paths()["stdlib"]), "", entry)
    elif place == "installed":
        for name in names.split(","):
            folder = _package(name)
            if folder is not None:
                yield from _sources(folder, f"{name}/", entry)
    elif place == "importlib.metadata":
        yield from _readmes(entry)
    elif place == "pydoc_data.topics":
        yield from _topics()
    else:
        yield from _files(place, entry)


def local_version(entry: Entry) -> str:
    """Return a text that changes when the members of an entry with `runtime` may change."""
    python = ".".join(map(str, sys.version_info[:3]))
    place, _, names = entry.runtime.partition(":")
    wanted = set(names.split(",")) if place == "installed" else None
    if place not in ("installed", "importlib.metadata"):
        return f"Python {python}"
    installed = sorted(
        {f"{_name(found)} {found.version}" for found in distributions() if not wanted or _name(found) in wanted}
    )
    return f"Python {python}, {hashlib.sha256(repr(installed).encode()).hexdigest()}"


def _name(found: Distribution) -> str:
    return str(found.metadata["Name"]).lower()


def _package(name: str) -> Path | None:
    spec = PathFinder.find_spec(name)
    places = list(spec.submodule_search_locations or []) if spec else []
    return Path(places[0]) if places else None


def _sources(folder: Path, prefix: str, entry: Entry) -> Iterator[Member]:
    paths = {prefix + path.relative_to(folder).as_posix(): path for path in folder.rglob("*.py")}
    for name in sorted(paths):
        if chosen(name, ["**"], entry.exclude) and paths[name].is_file():
            yield Member(name, paths[name].read_bytes())


def _files(package: str, entry: Entry) -> Iterator[Member]:
    folder = _package(package)
    for name in sorted(entry.members):
        if folder is not None and (folder / name).is_file():
            yield Member(name, (folder / name).read_bytes())


def _topics() -> Iterator[Member]:
    folder = _package("pydoc_data")
    path = folder / "topics.py" if folder else None
    if path is None or not path.is_file():
        return
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            topics: dict[str, str] = ast.literal_eval(node.value)
            yield from (Member(name, topics[name].encode()) for name in sorted(topics))


def _readmes(entry: Entry) -> Iterator[Member]:
    found = {_name(dist): dist for dist in distributions() if _is_permissive(dist, entry.options["licences_allowed"])}
    for name in sorted(found):
        text = found[name].metadata.get_payload()  # type: ignore[attr-defined]
        if isinstance(text, str) and text.strip():
            yield Member(name, text.encode("utf-8", "replace"))


def _is_permissive(dist: Distribution, allowed: list[str]) -> bool:
    headers = dist.metadata
    words = [headers["License-Expression"] or "", headers["License"] or "", *(headers.get_all("Classifier") or [])]
    licence = " ".join(word for word in words if not word.count("::") or word.startswith("License")).lower()
    return any(word.lower() in licence for word in allowed) and not any(word in licence for word in _COPYLEFT)
