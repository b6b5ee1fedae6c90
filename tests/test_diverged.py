"""Weights that are no numbers though the last loss was one: no checkpoint holds them, and what is called good is."""

import numpy as np
import pytest
import torch

from andrea_core.assembly import new_run
from andrea_core.cli.running import finish
from andrea_core.errors import RunError
from andrea_core.model.trainer import Trainer
from andrea_core.progress import Progress
from andrea_core.runs.checkpoint import CheckpointFolder
from andrea_core.runs.store import open_run
from andrea_core.scenario import load

SETTINGS = ("phases={ use = 'fixed', steps = 20 }", "curriculum={ use = 'static' }", "probes=[]", "run.steps=40")


@pytest.fixture
def poisoned(monkeypatch, tiny, tmp_path):
    """Return what makes a run whose update is not finite at a step, once, though the loss of that step is."""

    def make(step, *settings):
        taken, as_ever = [], Trainer.step

        def spoiling(self, *batch):
            as_ever(self, *batch)
            if self.steps_done == step and not taken:
                taken.append(step)
                with torch.no_grad():
                    self.model.norm.weight.fill_(float(("nan", "inf")[step % 2]))

        monkeypatch.setattr(Trainer, "step", spoiling)
        loaded = load(tiny, settings=[*SETTINGS, *settings])
        return new_run(loaded, tmp_path / "run", Progress(), device="cpu", threads=1)

    return make


def train(experiment):
    try:
        experiment.run()
    finally:
        experiment.folder.release()


def good_steps(experiment):
    """The steps of the checkpoints, each of which must hold a finite model."""
    checkpoints = CheckpointFolder(experiment.folder.path / "checkpoints")
    for step in checkpoints.steps():
        assert all(bool(tensor.isfinite().all()) for tensor in checkpoints.load(step).model.values())
    return checkpoints.steps()


def test_a_checkpoint_is_not_called_good_whose_weights_diverged(poisoned):
    experiment = poisoned(14)
    with pytest.raises(RunError, match=r"the loss is nan at step 15 .*; the checkpoint of step 7 is good; lower opt"):
        train(experiment)

    assert good_steps(experiment) == [0, 7]


def test_one_that_an_older_version_left_is_passed_over(poisoned, monkeypatch):
    experiment = poisoned(14)
    with monkeypatch.context() as older:
        older.setattr("andrea_core.saving.Saver.last_good", lambda _self: "")
        older.setattr("andrea_core.saving.finite", lambda _checkpoint: True)
        with pytest.raises(RunError, match="the loss is nan"):
            train(experiment)

    assert CheckpointFolder(experiment.folder.path / "checkpoints").steps() == [0, 7, 14]
    assert experiment.saver.last_good() == "the checkpoint of step 7 is good"


@pytest.mark.parametrize(("step", "good"), [(39, 35), (40, 35)])
def test_a_run_whose_last_step_diverged_is_no_success(poisoned, step, good):
    experiment = poisoned(step)
    words = "the loss is nan at step 40" if step < 40 else "the weights after step 40 are not finite: the model has div"
    with pytest.raises(RunError, match=rf"{words}.*; the checkpoint of step {good} is good"):
        train(experiment)

    assert good_steps(experiment)[-1] == good


def test_weights_that_are_no_numbers_from_the_start_are_refused_before_the_first_step(poisoned):
    experiment = poisoned(1)
    with torch.no_grad():
        experiment.trainer.model.norm.weight.fill_(torch.nan)
    with pytest.raises(RunError, match=r"the weights before the first step are not finite.*; no checkpoint is good"):
        train(experiment)

    assert experiment.trainer.steps_done == 0


def test_a_run_that_is_stopped_there_says_that_it_has_no_checkpoint_of_the_step(poisoned, capfd):
    experiment = poisoned(16)
    inner = experiment.progress.stepped
    experiment.progress.stepped = lambda step: experiment.ask_to_stop(15) if step == 16 else inner(step)

    assert finish(experiment, None) == 130
    assert (
        "stopped at step 16, no checkpoint of it, the loss or the weights are not finite; go on"
        in capfd.readouterr().err
    )
    assert good_steps(experiment) == [0, 7, 14]


def test_a_rewind_brings_such_a_run_to_its_end(poisoned):
    rewind = [f"optimizer.spike.{one}" for one in ("action=rewind", "window=4", "factor=100.0")]
    experiment = poisoned(14, *rewind)
    train(experiment)

    assert 14 in good_steps(experiment)  # of the second time round
    assert np.isfinite(open_run(experiment.folder.path).steps["loss"]).all()
    assert open_run(experiment.folder.path).steps.rows == 40
