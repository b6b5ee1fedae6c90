"""What plugins were shown comes back from the record alone, to the bit: observations and findings."""

import attrs
import numpy as np
import pytest
import zarr

from andrea_core.phase import Director
from andrea_core.runs.cpu import cpu_type
from andrea_core.runs.recorder import Recorder
from andrea_core.runs.replay import Recorded
from andrea_core.runs.replay.asked import own_scenario
from andrea_core.runs.replay.director import director_of
from andrea_core.runs.replay.findings import Looks
from andrea_core.runs.store import open_run


def finish(experiment, step=None):
    try:
        return experiment.run(step)
    finally:
        experiment.folder.release()


@attrs.frozen(eq=False)
class Spy(Director):
    """Keeps what the plugins of a run were shown."""

    observations: list = attrs.field(factory=list)
    findings: list = attrs.field(factory=list)

    def learn(self, state, phase, observation):
        self.observations.append(observation)
        return super().learn(state, phase, observation)

    def advance(self, state, outcome, findings):
        self.findings.append(findings)
        return super().advance(state, outcome, findings)


def spied(experiment):
    director = experiment.director
    spy = Spy(director.scenario, director.catalogue, director.sources, director.sampler)
    experiment.director = spy
    return spy


def bits(value):
    """Return a number's or an array's kind, shape and bytes; None for None, a text as it is."""
    if value is None or isinstance(value, str):
        return value
    array = np.asarray(value)
    return array.dtype.kind, array.dtype.itemsize, array.shape, array.tobytes()


def plain(findings):
    """Return findings as values that can be compared."""
    return {
        name: {key: (bits(one.value), one.status) for key, one in sorted(found.items())}
        for name, found in findings.measured.items()
    }


@pytest.mark.parametrize("reward", ["improvement", "needy"])
def test_every_observation_comes_back_to_the_bit(start, tmp_path, needy, reward):
    experiment = start(tmp_path / "run", f"reward.use={reward}", plugins=[needy])
    spy = spied(experiment)
    finish(experiment)
    recorded = Recorded.of(open_run(tmp_path / "run"))

    assert len(recorded) == len(spy.observations) > 3
    for phase, seen in enumerate(spy.observations):
        rebuilt = recorded.observation(phase)
        for name in ("loss", "tokens", "source", "weights", "step", "heldout", "loss_after"):
            assert bits(getattr(rebuilt, name)) == bits(getattr(seen, name)), name
        assert (rebuilt.gradients is None) == (seen.gradients is None) == (reward == "improvement")
        if seen.gradients is not None:
            assert rebuilt.gradients.train.tobytes() == seen.gradients.train.tobytes()
            assert rebuilt.gradients.heldout.tobytes() == seen.gradients.heldout.tobytes()
    assert recorded.provides == ({"heldout", "loss_after", "source_gradients"} if reward == "needy" else frozenset())


def test_every_finding_comes_back_also_of_two_probes_of_a_kind(start, tmp_path, needy):
    probes = (
        'probes=[{use="heldout", tokens=64, every=6, at_start=true}, {use="stopper", at=0, every=4, at_end=true},'
        ' {use="heldout", tokens=32, at_stage_borders=true, at_end=true}]'
    )
    experiment = start(tmp_path / "run", probes, plugins=[needy])
    spy = spied(experiment)
    finish(experiment)
    run = open_run(tmp_path / "run")
    recorded, own = Recorded.of(run), own_scenario(tmp_path / "run")
    director = director_of(own.scenario, own.catalogue, recorded, plans=True)
    looks, state = Looks.of(run, director), director.start()

    assert {name for found in spy.findings for name in found.measured} == {"heldout", "stopper", "heldout-2"}
    for index, found in enumerate(spy.findings):
        phase = director.decide(state)
        state, outcome, _ = director.learn(state, phase, recorded.observation(index))
        rebuilt = looks.at(phase, state.step, 24)
        state = director.advance(state, outcome, rebuilt)
        assert plain(rebuilt) == plain(found)


def test_losses_are_stored_as_the_float32_that_they_were(run):
    opened = open_run(run)

    assert opened.steps["row_loss"].dtype == np.float32
    assert opened.steps["row_source"].dtype == np.int16
    means = opened.steps["row_loss"].astype(np.float64).sum(1) / (4 * 32)
    assert means == pytest.approx(opened.steps["loss"], rel=1e-6)


def test_the_frame_of_rows_names_each_rows_source(run):
    rows, opened = open_run(run).frame("rows"), open_run(run)

    assert len(rows) == 24 * 4
    assert (rows["step"].iloc[0], rows["step"].iloc[-1], rows["row"].max()) == (1, 24, 3)
    counts = rows["source"].value_counts()
    assert [counts[name] for name in opened.sources] == opened.phases["drawn"].sum(0).tolist()


def test_the_record_names_every_processor_that_wrote_it(run):
    assert open_run(run).attributes["cpus"] == [cpu_type()] != [""]
    zarr.open_group(run / "run.zarr", mode="a").attrs["cpus"] = ["an abacus"]
    Recorder(run / "run.zarr", {"sources": ["birds", "clocks", "ships"]})
    assert open_run(run).attributes["cpus"] == ["an abacus", cpu_type()]
