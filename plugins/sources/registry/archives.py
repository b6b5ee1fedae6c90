"""Reads named members of a zip or tar archive; nothing is unpacked, installed, imported or unpickled."""

import hashlib
import re
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import attrs

from andrea_core import CorpusError
from andrea_plugins.sources.registry.recipe import Archive

_BLOCK = 1 << 20


@attrs.frozen
class Member:
    """A file of an archive: its full path inside, and its bytes."""

    path: str
    data: bytes

    @property
    def name(self) -> str:
        """The bare file name."""
        return self.path.rsplit("/", 1)[-1]


def verify(path: Path, archive: Archive) -> None:
    """Raise CorpusError unless the file has exactly the pinned size and sha256."""
    size = path.stat().st_size
    if size != archive.bytes:
        raise CorpusError(f"{path} has {size} bytes, but {archive.file} has {archive.bytes}. {_remedy(path)}")
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    if digest.hexdigest() != archive.sha256:
        raise CorpusError(
            f"{path} has the sha256 {digest.hexdigest()}, but {archive.package} {archive.version} is pinned to "
            f"{archive.sha256}. {_remedy(path)}"
        )


def _remedy(path: Path) -> str:
    return f"Delete {path.name} and run `andrea corpus build` again, or hand over a good copy with --archives FOLDER."


def read_members(path: Path, patterns: Sequence[str], exclude: Sequence[str] = ()) -> Iterator[Member]:
    """Yield the members whose path matches a pattern and no excluded one, sorted by path.

    In a pattern `*` stays inside one part of a path and `**/` crosses parts. Raises CorpusError for a broken archive.
    """
    try:
        if zipfile.is_zipfile(path):
            yield from _zip_members(path, patterns, exclude)
        else:
            yield from _tar_members(path, patterns, exclude)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError) as error:
        raise CorpusError(f"{path} cannot be read as an archive: {error}. {_remedy(path)}") from None


def _zip_members(path: Path, patterns: Sequence[str], exclude: Sequence[str]) -> Iterator[Member]:
    with zipfile.ZipFile(path) as file:
        for name in sorted(file.namelist()):
            if chosen(name, patterns, exclude):
                yield Member(name, file.read(name))


def _tar_members(path: Path, patterns: Sequence[str], exclude: Sequence[str]) -> Iterator[Member]:
    # A compressed tar has no index: one pass forward is far quicker than seeking in sorted order.
    with tarfile.open(path) as file:
        found = [
            Member(info.name, stream.read())
            for info in file
            if info.isfile() and chosen(info.name, patterns, exclude) and (stream := file.extractfile(info))
        ]
    yield from sorted(found, key=lambda member: member.path)


def chosen(name: str, patterns: Sequence[str], exclude: Sequence[str] = ()) -> bool:
    """Return whether a path matches one of the patterns and none of the excluded ones."""
    return any(_regex(pattern).match(name) for pattern in patterns) and not any(
        _regex(pattern).match(name) for pattern in exclude
    )


@lru_cache
def _regex(pattern: str) -> re.Pattern[str]:
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts) + r"\Z", re.DOTALL)
