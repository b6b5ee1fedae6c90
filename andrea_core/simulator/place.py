"""Where a simulated run goes: written aside, then put in place whole, so that a failure loses nothing."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from andrea_core.errors import RunError
from andrea_core.runs.files import FACTS, disk_errors, remove
from andrea_core.runs.folder import REPORT, SCENARIO, STORE, RunFolder, locked, read_facts
from andrea_core.runs.simulated import is_simulated

LOCK = ".lock"
WALKS = "walks.html"
OWN = (STORE, SCENARIO, FACTS, REPORT, WALKS)
"""What a simulated run puts into its folder; whatever else lies there stays."""
NEEDED = (STORE, SCENARIO, FACTS)


@contextmanager
def new_record(path: Path, text: str, facts: Mapping[str, Any]) -> Iterator[RunFolder]:
    """Yield a run folder aside that takes its place at `path` when the block ends well, and vanishes otherwise.

    `text` is the resolved scenario, `facts` what `run.json` shall say. Raises RunError, before anything is written,
    when `path` is in use or holds anything but the same simulation: the same scenario and the same truth.
    """
    refuse_other(path, facts)
    made = [parent for parent in path.parents if not parent.exists()]
    aside = path / ".simulated.partial" if path.exists() else path.with_name(f".{path.name}.{os.getpid()}.partial")
    lock = locked(path) if path.exists() else None
    try:
        with _named(aside, path):
            remove(aside)
            folder = RunFolder.create(aside, text, dict(facts))
            try:
                yield folder
            finally:
                folder.release()
            with disk_errors(str(path)):
                _put(aside, path)
    finally:
        remove(aside)
        if lock is not None:
            lock.release()
        for parent in made:
            with suppress(OSError):  # what is not empty holds the run, or is another's by now
                parent.rmdir()


def refuse_other(path: Path, facts: Mapping[str, Any]) -> None:
    """Raise RunError unless a simulation may be written to a path: nothing is there, or the same one."""
    if path.is_symlink() and not path.exists():
        raise RunError(f"{path} is a link to nothing; name another folder with --out")
    if not path.exists():
        return
    if not path.is_dir():
        raise RunError(f"{path} is a file; name another folder with --out")
    if not (path / FACTS).exists():
        _refuse_things(path)
        return
    if not is_simulated(path):
        read_facts(path)  # a torn one has a message of its own
        raise RunError(f"{path} holds a trained run, which is not overwritten; name another folder with --out")
    was = read_facts(path)
    for key, what in (("digest", "scenario"), ("truth_digest", "truth")):
        if was.get(key) != facts[key]:
            raise RunError(f"{path} holds a simulated run of another {what}; name another folder with --out")


def _refuse_things(path: Path) -> None:
    """Refuse a folder with anything in it but what a command that ended early leaves: a lock, an empty folder."""
    for entry in path.iterdir():
        empty = entry.name == "checkpoints" and entry.is_dir() and not any(entry.iterdir())
        if entry.name != LOCK and not empty and not entry.name.endswith(".partial"):
            raise RunError(f"{path} is not empty and holds no run; name another folder with --out")


def _put(aside: Path, path: Path) -> None:
    """Move a finished folder to a path: whole where nothing is, else part by part, and all back if one fails."""
    if not path.exists():
        aside.rename(path)
        return
    before = aside / "before"
    before.mkdir()
    try:
        for name in OWN:
            if (path / name).exists():
                (path / name).rename(before / name)
        for name in NEEDED:
            (aside / name).rename(path / name)
    except BaseException:
        for old in before.iterdir():
            remove(path / old.name)
            old.rename(path / old.name)
        raise


@contextmanager
def _named(aside: Path, path: Path) -> Iterator[None]:
    """Let errors name the folder that was asked for, and not the one aside."""
    try:
        yield
    except RunError as error:
        error.args = (str(error).replace(str(aside), str(path)),)
        raise
