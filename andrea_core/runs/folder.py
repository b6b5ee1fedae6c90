"""A run's folder: created, locked, described, found again."""

import json
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs
from filelock import FileLock, Timeout

from andrea_core.errors import RunError
from andrea_core.runs.checkpoint import CheckpointFolder
from andrea_core.runs.files import disk_errors, write_text

SCENARIO, STORE, FACTS, REPORT = "scenario.toml", "run.zarr", "run.json", "report.html"
TOKENIZER = "tokenizer.json"


@attrs.frozen(eq=False)
class RunFolder:
    """Where a run lives, and the lock that keeps a second process out of it."""

    path: Path
    lock: FileLock

    @classmethod
    def create(cls, path: Path, text: str, facts: dict[str, Any]) -> "RunFolder":
        """Make (or start over) a run folder and lock it.

        `text` is the resolved scenario, `facts` what `run.json` shall say. Raises RunError when the folder is in use,
        belongs to something else, or holds a run that can be resumed.
        """
        _refuse_foreign(path, facts["digest"])
        with disk_errors(str(path)):
            path.mkdir(parents=True, exist_ok=True)
            folder = cls(path, _locked(path))
            folder.checkpoints.folder.mkdir(exist_ok=True)
            facts = {**facts, "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "versions": versions()}
            write_text(path / FACTS, json.dumps(facts, indent=1))
            write_text(path / SCENARIO, _header(facts) + text)
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Lock an existing run folder; raises RunError when it is none, or in use."""
        require_run(path)
        return cls(path, _locked(path))

    @property
    def checkpoints(self) -> CheckpointFolder:
        """The run's checkpoints."""
        return CheckpointFolder(self.path / "checkpoints")

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
        raise RunError(f"{path} is no run folder: there is no such folder; `andrea run` prints a run's folder")
    missing = [name for name in (SCENARIO, FACTS) if not (path / name).is_file()]
    if missing:
        raise RunError(f"{path} is no run folder: {' and '.join(missing)} missing; `andrea run` prints a run's folder")


def read_facts(path: Path) -> dict[str, Any]:
    """Return what a run's `run.json` says; raises RunError."""
    require_run(path)
    try:
        facts: dict[str, Any] = json.loads((path / FACTS).read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(f"{path / FACTS} is damaged ({error}); start the run anew with `andrea run`") from error
    return facts


def new_name(name: str) -> str:
    """Return a folder name that is new: the scenario's name and the time."""
    return f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"


def versions() -> dict[str, str]:
    """Return the versions that a run's numbers may depend on."""
    packages = ("andrea", "torch", "numpy", "scipy", "zarr")
    return {"python": platform.python_version(), "machine": platform.machine(), **{p: version(p) for p in packages}}


def _refuse_foreign(path: Path, digest: str) -> None:
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is a file; name another folder with --out")
    if not path.exists() or not any(path.iterdir()):
        return
    if not (path / FACTS).is_file():
        raise RunError(f"{path} is not empty and holds no run; name another folder with --out")
    if read_facts(path).get("digest") != digest:
        raise RunError(f"{path} holds a run of another scenario; name another folder with --out")
    step, _ = CheckpointFolder(path / "checkpoints").newest_valid()
    if step is not None:
        raise RunError(
            f"{path} holds this run already, up to step {step}; go on with `andrea resume {path}`, "
            "or remove the folder to start over"
        )


def _locked(path: Path) -> FileLock:
    lock = FileLock(path / ".lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise RunError(f"{path} is in use by another process; wait until that one ends, or stop it") from None
    return lock


def _header(facts: dict[str, Any]) -> str:
    lines = [f"digest {facts['digest']}"]
    lines += [f"{name} {value}" for name, value in facts["versions"].items()]
    lines += [f"plugin {p['name']} {p['digest']}" for p in facts["plugins"] if p["digest"]]
    return "".join(f"# {line}\n" for line in lines) + "\n"
