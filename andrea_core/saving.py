"""A run to a checkpoint and back: the border state, the model, the phase's rows so far, the record's tail."""

from typing import TYPE_CHECKING, Any

from andrea_core.runs.checkpoint import Checkpoint, CheckpointFolder
from andrea_core.runs.files import disk_errors
from andrea_core.runs.tree import Arrays, flatten, restore as restore_tree

if TYPE_CHECKING:
    from andrea_core.model.trainer import Trainer
    from andrea_core.phase import State
    from andrea_core.runs.recorder import Recorder


def save(folder: CheckpointFolder, keep: int, state: "State", trainer: "Trainer", recorder: "Recorder") -> None:
    """Write the checkpoint of the present step, and keep the newest `keep`."""
    model, optimizer, extra = trainer.state()
    recorder.flush()
    arrays: Arrays = {}
    values = {
        "state": flatten(state, "state", arrays),
        "trainer": flatten(extra, "trainer", arrays),
        "recorder": flatten(recorder.state(), "recorder", arrays),
    }
    with disk_errors(f"the checkpoint of step {trainer.steps_done} in {folder.folder}"):
        folder.save(Checkpoint(trainer.steps_done, model, optimizer, arrays, values), keep)


def restore(folder: CheckpointFolder, step: int, start: "State", trainer: "Trainer", recorder: "Recorder") -> "State":
    """Bring trainer and record back to a checkpoint and return the state of its phase's border.

    `start`, the state before the first phase, says which classes the state is made of.
    """
    checkpoint = folder.load(step)
    trainer.load(checkpoint.model, checkpoint.optimizer, _tree(checkpoint, "trainer", {}))
    recorder.restore(_tree(checkpoint, "recorder", {}))
    state: State = _tree(checkpoint, "state", start)
    return state


def _tree(checkpoint: Checkpoint, name: str, template: Any) -> Any:
    return restore_tree(checkpoint.values[name], checkpoint.arrays, template)
