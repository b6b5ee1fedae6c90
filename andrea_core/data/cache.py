"""The cache folder: where it is, how a folder in it is built whole or not at all, and the preferences kept in it."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from andrea_core.errors import CorpusError

_PREFERENCES = "preferences.json"


def cache_folder() -> Path:
    """Return the folder of all cached text: the variable ANDREA_CACHE, or the user's cache folder; it may not exist."""
    import platformdirs

    named = os.environ.get("ANDREA_CACHE")
    return Path(named).expanduser().absolute() if named else Path(platformdirs.user_cache_dir("andrea"))


def digest(*parts: object) -> str:
    """Return the sha256 (hexadecimal) of some values, each written as JSON."""
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def build_folder(target: Path, build: Callable[[Path], None]) -> Path:
    """Return `target`, built by `build(folder)` unless it is there already.

    The work happens in a temporary folder beside it, which is renamed at the end: a folder of the cache is whole or is
    not there. Processes that want the same folder wait for each other. Raises CorpusError when the disk refuses.
    """
    if target.is_dir():
        return target
    with locked(target), _disk_errors(target):
        if not target.is_dir():
            with temporary_folder(target) as folder:
                build(folder)
                _flush(folder)
                folder.rename(target)
    return target


@contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """Give a new folder beside `target`, whose lock must be held; what is left of it at the end is removed.

    Leftovers of processes that were killed while they worked on the same target go first.
    """
    mark = f".building-{target.name}-"
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f"{mark}*"):
        shutil.rmtree(left, ignore_errors=True)
    folder = target.parent / f"{mark}{uuid4().hex}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Hold the lock of a path of the cache: of two processes, one waits. Raises CorpusError when the disk refuses."""
    from filelock import FileLock

    locks = cache_folder() / "locks"
    with _disk_errors(target):
        locks.mkdir(parents=True, exist_ok=True)
        lock = FileLock(locks / f"{target.parent.name}-{target.name}.lock")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all. Raises CorpusError when the disk refuses."""
    part = path.with_name(f".{path.name}-{uuid4().hex}")
    with _disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(data)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def preference(name: str) -> bool:
    """Return a choice that the user made for this cache, such as `wheels_only`; False if it was never made."""
    try:
        return bool(json.loads((cache_folder() / _PREFERENCES).read_text(encoding="utf-8")).get(name, False))
    except (OSError, ValueError):
        return False


def set_preference(name: str, value: bool) -> None:
    """Keep a choice in the cache, so that later runs agree with it. Raises CorpusError when the disk refuses."""
    path = cache_folder() / _PREFERENCES
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        table = {}
    if table.get(name, False) != value:
        write_file(path, json.dumps({**table, name: value}).encode())


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CorpusError(
            f"The cache at {path.parent} cannot be written: {error.strerror or error}. "
            "Make room there, or name another folder in the variable ANDREA_CACHE."
        ) from error


def _flush(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
