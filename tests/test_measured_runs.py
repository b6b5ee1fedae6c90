"""Whole runs with what rewards and policies may have measured: they train, resume inside a phase, and touch nothing."""

import numpy as np
import pytest
import zarr

from andrea_core.assembly import new_run, resumed_run
from andrea_core.errors import RunError
from andrea_core.experiment import Interrupted
from andrea_core.model import gradients
from andrea_core.model.gpt import GPT
from andrea_core.progress import Progress
from andrea_core.runs.store import open_run
from andrea_core.scenario import load

RANDOM = 'policy = { use = "random" }'
REWARDS = {
    "loss": 'reward = { use = "loss", normaliser = "zscore" }',
    "improvement": 'reward = { use = "improvement", normaliser = "quantile", reservoir = 5 }',
    "excess_loss": 'reward = { use = "excess_loss", reference = { birds = 2.0, clocks = 2.0, ships = 2.5 } }',
    "prediction_gain": 'reward = { use = "prediction_gain", reservoir = 4 }',
    "heldout_gain": 'reward = { use = "heldout_gain" }',
    "gradient_alignment": 'reward = { use = "gradient_alignment", target = "others" }',
}
CASES = {
    **{name: f'policy = {{ use = "ucb1" }}\n{reward}' for name, reward in REWARDS.items()},
    "doge": 'policy = { use = "doge", mu = 0.001 }',
    "rb": 'policy = { use = "rb", strength = 2.0 }',
    "doge in a dice": 'policy = { use = "dice", faces = [{ share = 1.0, policy = { use = "doge" } }] }',
}
SHORT = """
run = { steps = 22, checkpoint_every = 5, keep_checkpoints = 100 }
curriculum = { use = "staged", stages = [{ name = "two", until = 7, sources = ["birds", "ships"] }, { name = "all" }] }
"""


def scenario(tiny, case):
    """A run of 22 steps in two stages; checkpoints fall inside phases."""
    path = tiny.with_name("measured.toml")
    path.write_text(f'extends = "tiny.toml"\nprobes = []\n{SHORT}\n{case}\n')
    return path


def start(path, out):
    return new_run(load(path), out, Progress(), device="cpu", threads=1)


def finish(experiment, step=None):
    try:
        return experiment.run(step)
    finally:
        experiment.folder.release()


def train(path, out):
    finish(start(path, out))
    return open_run(out)


def stop_at(experiment, step, resume_at=None):
    """Train until `step` steps are done and stop there, as Ctrl-C does."""
    inner = experiment.trainer.step

    def watched(inputs, targets):
        inner(inputs, targets)
        if experiment.trainer.steps_done == step:
            experiment.ask_to_stop(2)

    experiment.trainer.step = watched
    with pytest.raises(Interrupted):
        finish(experiment, resume_at)


def record(folder):
    group = zarr.open_group(folder / "run.zarr", mode="r")
    arrays = {name: a for name, a in group.members(max_depth=None) if isinstance(a, zarr.Array)}
    return {name: np.asarray(array[:]) for name, array in arrays.items() if not name.endswith("/seconds")}


@pytest.mark.parametrize("name", CASES)
def test_a_run_resumed_twice_inside_phases_is_the_uninterrupted_one(tiny, tmp_path, name):
    path = scenario(tiny, CASES[name])
    run = train(path, tmp_path / "straight")
    inside = [int(s) + 1 for s, n in zip(run.phases["start"], run.phases["steps"], strict=True) if n > 2]
    stop_at(start(path, tmp_path / "cut"), inside[1])
    experiment, step = resumed_run(tmp_path / "cut", Progress())
    assert step == inside[1]
    stop_at(experiment, inside[1] + 1, step)
    finish(*resumed_run(tmp_path / "cut", Progress()))
    straight, cut = record(tmp_path / "straight"), record(tmp_path / "cut")

    assert straight.keys() == cut.keys()
    for key in straight:
        np.testing.assert_array_equal(cut[key], straight[key], err_msg=key)
    if name in REWARDS:
        assert np.isfinite(run.phases["reward"][-1]).any()
    else:
        assert (run.phases["requested"][1] != run.phases["requested"][0]).any()


def test_what_is_measured_for_rewards_leaves_training_bit_identical(tiny, tmp_path):
    wanted = ("loss", "prediction_gain", "heldout_gain", "gradient_alignment")
    runs = [train(scenario(tiny, f"{RANDOM}\n{REWARDS[name]}"), tmp_path / name) for name in wanted]

    for run in runs[1:]:
        assert run.steps["loss"].tobytes() == runs[0].steps["loss"].tobytes()
        assert run.steps["grad_norm"].tobytes() == runs[0].steps["grad_norm"].tobytes()
        assert run.phases["weights"].tobytes() == runs[0].phases["weights"].tobytes()


def test_what_nobody_needs_is_not_measured(tiny, tmp_path, monkeypatch):
    calls = []
    inner = GPT.scores
    monkeypatch.setattr(GPT, "scores", lambda self, *given, **more: calls.append(0) or inner(self, *given, **more))
    experiment = start(scenario(tiny, f"{RANDOM}\n{REWARDS['improvement']}"), tmp_path / "run")
    finish(experiment)

    assert len(calls) == 22  # one forward pass a step
    assert experiment.looker.meter is None


def test_too_many_gradients_are_refused_before_the_first_step(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(gradients, "MOST_PASSES", 5)
    with pytest.raises(RunError, match=r"gradients of 3 sources, .* would take 6 backward passes"):
        start(scenario(tiny, CASES["doge"]), tmp_path / "run")
