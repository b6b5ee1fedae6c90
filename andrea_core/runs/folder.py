"""A run's folder: created, locked, described, found again."""

import hashlib
import json
import platform
import time
import tomllib
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs
from filelock import FileLock, Timeout

from andrea_core.errors import RunError
from andrea_core.runs.checkpoint import CheckpointFolder
from andrea_core.runs.files import FACTS, disk_errors, write_text
from andrea_core.runs.simulated import refuse_simulated
from andrea_core.runs.soundness import RESTORE

SCENARIO, STORE, REPORT = "scenario.toml", "run.zarr", "report.html"
TOKENIZER, SAVES, PIVOTS = "tokenizer.json", "checkpoints.json", "pivots"
LOCK = ".lock"
_MOST_THREADS = 1024


def _is_parent(value: Any) -> bool:
    stages = value.get("stages") if isinstance(value, dict) else None
    known = isinstance(stages, list) and all(isinstance(one, dict) and type(one.get("start")) is int for one in stages)
    return known and type(value.get("step")) is int and isinstance(value.get("path"), str)


def _is_plugin(value: Any) -> bool:
    """Return whether a value describes a plugin: its name, where it came from, the digest of its file or None."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("origin"), str)
        and isinstance(value.get("digest", 0), str | None)
    )


_RIGHT: Mapping[str, Callable[[Any], bool]] = {
    "digest": lambda value: isinstance(value, str),
    "plugins": lambda value: isinstance(value, list) and all(map(_is_plugin, value)),
    "device": lambda value: isinstance(value, str),
    "threads": lambda value: type(value) is int and 1 <= value <= _MOST_THREADS,
    "corpus": lambda value: isinstance(value, dict),
    "tokenizer": lambda value: isinstance(value, str),
    "parent": lambda value: value is None or _is_parent(value),
}
"""What must be in run.json for a run to go on; a parent only in a fork's."""


@attrs.frozen(eq=False)
class RunFolder:
    """Where a run lives, and the lock that keeps a second process out of it."""

    path: Path
    lock: FileLock
    checkpoints: CheckpointFolder
    """The run's checkpoints."""

    @classmethod
    def create(cls, path: Path, text: str, facts: dict[str, Any]) -> "RunFolder":
        """Make (or start over) a run folder and lock it.

        `text` is the resolved scenario, `facts` what `run.json` shall say. Raises RunError when the folder is in use,
        belongs to something else, or holds a run that can be resumed.
        """
        with disk_errors(str(path)):
            _refuse_other_things(path)
            path.mkdir(parents=True, exist_ok=True)
            folder = cls._lock(path)
            try:
                _refuse_other_run(folder, facts["digest"])
                folder.checkpoints.folder.mkdir(exist_ok=True)
                now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
                facts = {**facts, "scenario": text, "created": now, "versions": versions()}
                write_text(path / FACTS, json.dumps(facts, indent=1))
                write_text(path / SCENARIO, _header(facts) + text)
            except BaseException:
                folder.release()
                raise
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Lock an existing run folder; raises RunError when it is none, is in use, or is damaged."""
        require_run(path)
        refuse_simulated(path, "there is nothing to go on from; to have it again, use `andrea simulate`")
        folder = cls._lock(path)
        try:
            check_scenario(path, folder.facts()["digest"])
            if not (path / TOKENIZER).is_file() and folder.checkpoints.steps():
                raise RunError(f"{path / TOKENIZER} is missing: the run folder is damaged; {RESTORE}")
        except BaseException:
            folder.release()
            raise
        return folder

    @classmethod
    def _lock(cls, path: Path) -> "RunFolder":
        return cls(path, locked(path), CheckpointFolder(path / "checkpoints"))

    @property
    def store(self) -> Path:
        """The run's zarr record."""
        return self.path / STORE

    def facts(self) -> dict[str, Any]:
        """Return what `run.json` says."""
        return read_facts(self.path)

    def note(self, **facts: Any) -> None:
        """Add to what `run.json` says."""
        with disk_errors(str(self.path / FACTS)):
            write_text(self.path / FACTS, json.dumps({**self.facts(), **facts}, indent=1))

    def release(self) -> None:
        """Let others in."""
        self.lock.release()


def require_run(path: Path) -> None:
    """Raise RunError unless the folder is a run's."""
    if not path.is_dir():
        what = "it is a file" if path.is_file() else "there is no such folder"
        raise RunError(f"{path} is no run folder: {what}; `andrea run` prints a run's folder")
    missing = [name for name in (SCENARIO, FACTS) if not (path / name).is_file()]
    if missing:
        raise RunError(f"{path} is no run folder: {' and '.join(missing)} missing; `andrea run` prints a run's folder")


def read_facts(path: Path) -> dict[str, Any]:
    """Return what a run's `run.json` says; raises RunError when it is damaged."""
    try:
        facts = json.loads((path / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path / FACTS} is damaged ({error}); {RESTORE}") from error
    if not isinstance(facts, dict):
        raise RunError(f"{path / FACTS} is damaged (it holds no table); {RESTORE}")
    wrong = [name for name, right in _RIGHT.items() if not right(facts.get(name))]
    if wrong:
        raise RunError(f"{path / FACTS} is damaged (missing or wrong: {', '.join(wrong)}); {RESTORE}")
    return facts


def first_step(path: Path) -> int:
    """Return the step at which a run began: 0, but for a fork."""
    parent = read_facts(path).get("parent")
    return int(parent["step"]) if isinstance(parent, dict) else 0


def check_scenario(path: Path, digest: str) -> None:
    """Raise RunError unless a run's scenario.toml is, below its head, the text that the run was started with.

    The error names the keys that changed.
    """
    try:
        _, _, text = (path / SCENARIO).read_text(encoding="utf-8").partition("\n\n")
    except (OSError, ValueError) as error:
        raise RunError(f"{path / SCENARIO} is damaged ({error}); {RESTORE}") from error
    if hashlib.sha256(text.encode()).hexdigest() != digest:
        changes = _changes(path, text)
        raise RunError(
            f"{path / SCENARIO} in the run folder is not what the run was started with: "
            f"{changes or 'it is damaged, or was changed'}; undo the change, {RESTORE}"
            + (f", or go on under other settings as a run of its own: `andrea fork {path} SCENARIO`" if changes else "")
        )


def _changes(path: Path, text: str) -> str:
    """Return in words which keys a changed scenario has other values for; empty when that cannot be told."""
    from andrea_core.changes import changes, in_words

    was = read_facts(path).get("scenario")
    if not isinstance(was, str) or was.startswith(text):  # the rest is cut off: damage, not a change
        return ""
    try:
        return in_words(changes(tomllib.loads(was), tomllib.loads(text)))
    except (ValueError, RecursionError):
        return ""


def new_name(name: str) -> str:
    """Return a folder name that is new: the scenario's name and the time."""
    return f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"


def versions() -> dict[str, str]:
    """Return the versions that a run's numbers may depend on."""
    packages = ("andrea", "torch", "numpy", "scipy", "zarr")
    return {"python": platform.python_version(), "machine": platform.machine(), **{p: version(p) for p in packages}}


def _refuse_other_things(path: Path) -> None:
    """Refuse a path that holds something else than a run, before anything is written there."""
    if not path.exists() and not path.is_symlink():
        return
    if not path.is_dir():
        raise RunError(f"{path} is a file; name another folder with --out")
    if (path / FACTS).exists() or (path / LOCK).exists():
        return
    if any(path.iterdir()):
        raise RunError(f"{path} is not empty and holds no run; name another folder with --out")


def _refuse_other_run(folder: RunFolder, digest: str) -> None:
    """Refuse a locked folder with another run in it, or with this one when it can be resumed."""
    path = folder.path
    if not (path / FACTS).is_file():
        rest = {entry.name for entry in path.iterdir() if not entry.name.endswith(".partial")}
        if rest - {LOCK, "checkpoints"} or folder.checkpoints.steps():
            raise RunError(f"{path} is not empty and holds no run; name another folder with --out")
        return
    refuse_simulated(path, "its record would be lost under a trained run")
    if read_facts(path)["digest"] != digest:
        raise RunError(f"{path} holds a run of another scenario; name another folder with --out")
    step, _ = folder.checkpoints.newest_valid()
    if step is not None:
        raise RunError(
            f"{path} holds this run already, up to step {step}; go on with `andrea resume {path}`, "
            "or remove the folder to start over"
        )


def locked(path: Path) -> FileLock:
    """Return the lock of a folder, held; raises RunError when another process holds it, or it cannot be had."""
    lock = FileLock(path / LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise RunError(f"{path} is in use by another process; wait until that one ends, or stop it") from None
    except (OSError, RuntimeError) as error:  # filelock raises the latter where a file system knows no locks
        reason = getattr(error, "strerror", None) or error
        raise RunError(
            f"{path / LOCK}, which keeps a second process out of the run, cannot be opened ({reason}); "
            "make the folder and this file writable for you, or copy the run to where they are"
        ) from error
    return lock


def _header(facts: dict[str, Any]) -> str:
    lines = [f"digest {facts['digest']}"]
    lines += [f"{name} {value}" for name, value in facts["versions"].items()]
    lines += [f"plugin {p['name']} {p['digest']}" for p in facts["plugins"] if p["digest"]]
    return "".join(f"# {line}\n" for line in lines) + "\n"
