"""Files that are either whole or not there: written aside, synced, then renamed."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from andrea_core.errors import RunError


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside `target` that becomes `target` when the block ends well, and vanishes otherwise."""
    aside = target.with_name(f".{target.name}.partial")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        aside.mkdir(parents=True)
        yield aside
        for file in aside.iterdir():
            _sync(file)
        _sync(aside)
        aside.rename(target)
        _sync(target.parent)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    aside = path.with_name(f".{path.name}.partial")
    aside.write_text(text, encoding="utf-8")
    _sync(aside)
    aside.replace(path)


@contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Turn a full disk or a refused write into one RunError that says what could not be written."""
    try:
        yield
    except OSError as error:
        remedies = {
            errno.ENOSPC: "the disk is full; free some space, then `andrea resume` the run",
            errno.EDQUOT: "the disk quota is used up; free some space, then `andrea resume` the run",
            errno.EACCES: "writing is not permitted there; choose another folder with --out",
            errno.EROFS: "the file system is read-only; choose another folder with --out",
        }
        if error.errno not in remedies:
            raise
        raise RunError(f"cannot write {what}: {remedies[error.errno]}") from error


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open a folder, and needs no sync to keep a rename
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF):  # some file systems cannot sync a folder
            raise
    finally:
        os.close(descriptor)
