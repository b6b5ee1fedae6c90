"""What a run of several ranks shares: one folder, one record, one decision; rank 0 writes, the others follow."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock

from andrea_core.errors import RunError
from andrea_core.phase import Phase, State
from andrea_core.runs.checkpoint import CheckpointFolder
from andrea_core.runs.folder import RunFolder
from andrea_core.runs.recorder import Batch, Recorder
from andrea_core.runs.tree import Arrays, flatten
from andrea_core.saving import Saver

if TYPE_CHECKING:
    from andrea_core.model.ranks import Ranks
    from andrea_core.model.trainer import Trainer


def by_first(ranks: "Ranks", make: Callable[[], RunFolder]) -> RunFolder:
    """Return the folder that `make` gives, which locks it, on rank 0; on the others the same one without a lock.

    Raises RunError on a rank that does not see the folder: all ranks need one file system.
    """
    if ranks.size == 1:
        return make()
    made: list[RunFolder] = []

    def path() -> Any:
        made.append(make())
        return made[0].path.resolve()

    shared = ranks.share(path)
    if made:
        return made[0]
    if not shared.is_dir():
        raise RunError(f"rank {ranks.index} does not see {shared}; put the run where all ranks read the same files")
    return RunFolder(shared, FileLock(shared / ".lock"), CheckpointFolder(shared / "checkpoints"))


def decision(state: State, phase: Phase) -> bytes:
    """Return a digest of 32 bytes of a decided phase and of all that later decisions rest on."""
    arrays: Arrays = {}
    told = {
        "state": (state.step, state.phase, state.trained, state.curriculum, state.policy, state.reward),
        "phase": (phase.stage.name, phase.steps, phase.policy, phase.landed.requested, phase.landed.weights),
        "plan": (phase.plan.source, phase.plan.position),
    }
    text = json.dumps(flatten(told, "", arrays), sort_keys=True)
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode() + arrays[name].tobytes())
    return digest.digest()


class _Sink:
    """A table that keeps nothing."""

    def __len__(self) -> int:
        return 0

    def append(self, row: Mapping[str, Any]) -> None:
        """Forget a row."""

    def extend(self, columns: Mapping[str, Any]) -> None:
        """Forget rows."""


class Silence(Recorder):
    """The recorder of a rank that writes nothing."""

    def __init__(self) -> None:
        self._sink: Any = _Sink()

    def __getitem__(self, name: str) -> Any:
        return self._sink

    def code(self, table: str, array: str, name: str) -> np.int32:
        """Return 0: nobody reads it."""
        return np.int32(0)

    def tick(self) -> None:
        """Write nothing."""

    def flush(self) -> None:
        """Write nothing."""

    def take(self) -> Batch:
        """Return nothing."""
        return Batch({}, {})

    def write(self, batch: Batch) -> None:
        """Write nothing."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Leave the record to rank 0."""


class Bystander(Saver):
    """The saver of a rank that writes nothing: it lends its parts of the tensors, and counts like rank 0's."""

    def save(self, state: State, trainer: "Trainer") -> None:
        """Take part in a save."""
        trainer.state()
        self._took(trainer.steps_done, state, self._score(trainer.steps_done))
