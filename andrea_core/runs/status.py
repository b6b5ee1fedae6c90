"""How a run stands, in a line: going on, finished, stopped at a step, or damaged, and where it can go on from."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from andrea_core.errors import RunError
from andrea_core.runs.checkpoint import CheckpointFolder
from andrea_core.runs.folder import LOCK, check_scenario, read_facts
from andrea_core.runs.simulated import is_simulated
from andrea_core.runs.store import Run, open_run


def status_of(folder: Path, total: int) -> str:
    """Return how the run of a folder stands; `total` is the number of its steps. The folder is only read."""
    step, damage = CheckpointFolder(folder / "checkpoints").newest_valid()
    saved = "no checkpoint is whole" if step is None else f"the last checkpoint is of step {step} of {total}"
    saved = "; ".join([saved, *(f"newer but damaged: {text}" for text in damage if step is not None)])
    if in_use(folder):
        return f"running: {saved if step is not None else 'no checkpoint is written yet'}"
    try:
        check_scenario(folder, read_facts(folder)["digest"])
        if step is None and not is_simulated(folder):
            return _without_checkpoint(folder, damage)
        run = open_run(folder)
        done, early = _recorded(run), _stop(run)
    except RunError as error:
        return f"damaged: {str(error).rstrip('.')}; {saved}"
    if is_simulated(folder):
        return f"finished: simulated, {done} of {total} steps"
    if done >= total:
        return f"finished: {done} of {total} steps; {saved}"
    if early is not None and early == done:
        return f"finished early: a probe stopped it at step {done} of {total}; {saved}"
    return f"stopped: {saved}; `andrea resume {folder}` goes on from there"


def stopped_early(folder: Path) -> int | None:
    """Return the step at which a probe stopped a run whose record ends there; None for any other folder."""
    try:
        run = open_run(folder)
        return early if (early := _stop(run)) is not None and early == _recorded(run) else None
    except RunError:
        return None


def in_use(folder: Path) -> bool:
    """Return whether a process holds a run's lock: one that trains it. False where the system cannot tell."""
    try:
        import fcntl
    except ImportError:
        return False
    with _opened(folder / LOCK) as file:
        if file is None:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
    return False


@contextmanager
def _opened(path: Path) -> Iterator[int | None]:
    """Give the descriptor of a file that is only read, None when there is none; closing it lets go of its lock."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        yield None
        return
    try:
        yield file
    finally:
        os.close(file)


def _without_checkpoint(folder: Path, damage: list[str]) -> str:
    again = f"start over with `andrea run {folder}/scenario.toml --out {folder}`"
    if damage:
        return f"damaged: no checkpoint is whole; {'; '.join(damage)}; {again}"
    return f"stopped: before its first checkpoint; {again}"


def _recorded(run: Run) -> int:
    """Return how many steps the finished phases of the record have."""
    phases = run.phases
    return int(phases["start"][-1] + phases["steps"][-1]) if phases.rows else 0


def _stop(run: Run) -> int | None:
    """Return the step at which a probe asked for the end; None when none did."""
    if not run.events.has("kind", "step"):
        return None
    found = [int(step) for step, kind in zip(run.events["step"], run.events["kind"], strict=True) if kind == "stop"]
    return found[-1] if found else None
