"""Files that are either whole or not there: written aside, synced, then renamed."""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from andrea_core.errors import RunError

FACTS = "run.json"
"""What a run's folder says of itself: digests, device, threads, plugins, versions."""

_REMEDIES = {
    errno.ENOSPC: "the disk is full; free some space, then do it again (a run: `andrea resume`)",
    errno.EDQUOT: "the disk quota is used up; free some space, then do it again (a run: `andrea resume`)",
    errno.EFBIG: "the file would be too large (see `ulimit -f`); raise the limit, do it again (a run: `andrea resume`)",
    errno.EACCES: "writing is not permitted there; make it writable for you, or choose another folder, with --out",
    errno.EPERM: "writing is not permitted there; make it writable for you, or choose another folder, with --out",
    errno.EROFS: "the file system is read-only; choose another folder, with --out",
    errno.ENAMETOOLONG: "the name is too long for the file system; choose a shorter one, with --out",
    errno.ENOTDIR: "a part of that path is a file, not a folder; choose another folder, with --out",
    errno.EISDIR: "a folder stands where a file must be written; move it away",
    errno.ELOOP: "a link in that path leads back to itself; choose another folder, with --out",
    errno.ENOENT: "a part of that path is not there, or was removed meanwhile; choose another folder, with --out",
    errno.EEXIST: "something else stands there; move it away, or choose another folder, with --out",
    errno.EMFILE: "too many files are open (see `ulimit -n`); raise the limit, do it again (a run: `andrea resume`)",
    errno.EIO: "the disk failed to read or write; check it, then do it again (a run: `andrea resume`)",
}


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside `target` that becomes `target` when the block ends well, and vanishes otherwise.

    What stood at `target` goes at that moment, not before.
    """
    aside = target.with_name(f".{target.name}.partial")
    remove(aside)
    try:
        aside.mkdir(parents=True)
        yield aside
        mode = aside.stat().st_mode & 0o666  # what the user's umask leaves; some libraries write for the owner alone
        for file in aside.iterdir():
            file.chmod(mode)
            _sync(file)
        _sync(aside)
        remove(target)
        aside.rename(target)
        _sync(target.parent)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all; raises RunError when the disk refuses."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with disk_errors(str(path)):
        try:
            aside.write_text(text, encoding="utf-8")
            _sync(aside)
            aside.replace(path)
        except BaseException:
            remove(aside)
            raise


def remove(path: Path) -> None:
    """Remove a folder, a file or a link, whichever it is, as far as the disk lets it go."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return  # what then writes there says what is wrong


@contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Turn a full disk, a refused write or an impossible path into one RunError that says what could not be written."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        number = _number(error)
        if number is None:
            raise
        unknown = f"{getattr(error, 'strerror', None) or error}; check the place, then try again"
        raise RunError(f"cannot write {what}: {_REMEDIES.get(number, unknown)}") from error


def _number(error: Exception) -> int | None:
    """Return the system's error number, 0 when it is not told; None for an error that is not the disk's."""
    if isinstance(error, OSError):
        return error.errno or 0
    told = re.search(r"\(os error (\d+)\)", str(error))  # safetensors writes with its own code, and errors of its own
    return int(told[1]) if told else 0 if "I/O error" in str(error) else None


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
