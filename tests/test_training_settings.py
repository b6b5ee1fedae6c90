"""Settings of the step, seen from a scenario: sources that count more, stages with their own rate, spikes recorded."""

import numpy as np
import pytest
import zarr

from andrea_core.assembly import new_run, resumed_run
from andrea_core.errors import ScenarioError
from andrea_core.experiment import Interrupted
from andrea_core.progress import Progress
from andrea_core.scenario import load

SPIKE = ("optimizer.spike.action=skip", "optimizer.spike.factor=1.0001", "optimizer.spike.window=4")
STAGE = "curriculum.stages[1].optimizer"
OWN = (f"{STAGE}.lr=0.5", f"{STAGE}.schedule=constant")
ALL = (*SPIKE, *OWN, "objective.ships=3.0", "optimizer.micro_rows=3", "optimizer.z_loss=0.001")


def start(scenario, out, settings=()):
    return new_run(load(scenario, settings=settings), out, Progress(), device="cpu", threads=1)


def finish(experiment, step=None):
    try:
        experiment.run(step)
    finally:
        experiment.folder.release()


def train(scenario, out, settings=()):
    """Return the arrays of a finished run by name, its wall time apart."""
    finish(start(scenario, out, settings))
    return record(out)


def record(folder):
    members = zarr.open_group(folder / "run.zarr", mode="r").members(max_depth=None)
    arrays = {name: np.asarray(array[:]) for name, array in members if isinstance(array, zarr.Array)}
    return {name: array for name, array in arrays.items() if not name.endswith("/seconds")}


def stopped_and_resumed(scenario, out, at, settings):
    experiment = start(scenario, out, settings)
    inner = experiment.trainer.step

    def step(*given):
        inner(*given)
        if experiment.trainer.steps_done == at:
            experiment.ask_to_stop(2)

    experiment.trainer.step = step
    with pytest.raises(Interrupted):
        finish(experiment)
    finish(*resumed_run(out, Progress()))


@pytest.mark.parametrize("at", [9, 17, 31])
def test_a_run_with_every_setting_on_resumes_bit_for_bit(tiny, tmp_path, at):
    straight = train(tiny, tmp_path / "straight", ALL)
    stopped_and_resumed(tiny, tmp_path / "cut", at, ALL)
    cut = record(tmp_path / "cut")

    assert straight.keys() == cut.keys()
    for name, array in straight.items():
        np.testing.assert_array_equal(array, cut[name], err_msg=name)


def test_a_stage_shows_its_own_rate_and_the_others_the_runs(tiny, tmp_path):
    plain, own = train(tiny, tmp_path / "plain"), train(tiny, tmp_path / "own", settings=OWN)
    rates, before = (run["steps/lr"] for run in (own, plain))

    assert rates[12:26].tolist() == [0.5] * 14
    assert rates[:12].tolist() == before[:12].tolist()
    assert rates[26:].tolist() == before[26:].tolist()


def test_skipped_steps_are_events_with_step_loss_and_rows(tiny, tmp_path):
    run = train(tiny, tmp_path / "run", settings=SPIKE)
    kinds, texts = (run[f"events/{name}"].tolist() for name in ("kind", "text"))
    spikes = [text for kind, text in zip(kinds, texts, strict=True) if kind == "spike"]

    assert spikes
    assert all("its update is skipped; rows of that step: " in text for text in spikes)


def test_a_source_that_counts_more_changes_the_weights_but_not_what_is_recorded_first(tiny, tmp_path):
    plain, more = train(tiny, tmp_path / "plain"), train(tiny, tmp_path / "more", settings=["objective.ships=9.0"])
    first, second = (run["steps/row_loss"] for run in (plain, more))

    assert first[0].tolist() == second[0].tolist()
    assert not np.array_equal(first[1:], second[1:])


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("objective.shipz=1.0", r"objective.shipz: there is no source 'shipz'; did you mean 'ships'"),
        ("objective.ships=0.0", r"objective: objective.ships must be from 1e-6 to 1e6, got 0.0"),
        (f"{STAGE}.warmup=3", r"warmup belongs to a schedule of the stage's own"),
        (f"{STAGE}.lr=-1.0", r"lr must be greater than 0"),
        (f"{STAGE}.momentum=0.5", r"unknown key 'momentum'"),
        ("optimizer.spike.action=undo", r"action must be one of 'off', 'skip', 'rewind'"),
        ("optimizer.spike.rewinds=0", r"rewinds must be at least 1"),
    ],
)
def test_settings_that_cannot_be_are_refused_at_load(tiny, setting, text):
    with pytest.raises(ScenarioError, match=text):
        load(tiny, settings=[setting])
