"""An experiment to a checkpoint and back: the border state, the model, the phase's rows so far, the record's tail."""

from typing import TYPE_CHECKING, Any

from andrea_core.runs.checkpoint import Checkpoint
from andrea_core.runs.tree import Arrays, flatten, restore as restore_tree

if TYPE_CHECKING:
    from andrea_core.experiment import Experiment
    from andrea_core.phase import State


def save(experiment: "Experiment") -> None:
    """Write the checkpoint of the present step."""
    from andrea_core.runs.files import disk_errors

    model, optimizer, extra = experiment.trainer.state()
    experiment.record.recorder.flush()
    arrays: Arrays = {}
    values = {
        "state": flatten(experiment.state, "state", arrays),
        "trainer": flatten(extra, "trainer", arrays),
        "recorder": flatten(experiment.record.recorder.state(), "recorder", arrays),
    }
    checkpoint = Checkpoint(experiment.trainer.steps_done, model, optimizer, arrays, values)
    with disk_errors(f"the checkpoint of step {checkpoint.step} in {experiment.folder.path}"):
        experiment.folder.checkpoints.save(checkpoint, experiment.director.scenario.run.keep_checkpoints)


def restore(experiment: "Experiment", step: int) -> "State":
    """Bring trainer and record back to a checkpoint and return the state of its phase's border."""
    checkpoint = experiment.folder.checkpoints.load(step)
    experiment.trainer.load(checkpoint.model, checkpoint.optimizer, _tree(checkpoint, "trainer", {}))
    experiment.record.recorder.restore(_tree(checkpoint, "recorder", {}))
    experiment.record.saved_at = step
    state: State = _tree(checkpoint, "state", experiment.director.start())
    return state


def _tree(checkpoint: Checkpoint, name: str, template: Any) -> Any:
    return restore_tree(checkpoint.values[name], checkpoint.arrays, template)
