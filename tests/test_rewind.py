"""Runs that rewind: what the record says, and that a run cut anywhere is bit for bit the uninterrupted one."""

import os
import signal

import numpy as np
import pytest
from cut_runs import assert_same_contents, contents
from hypothesis import HealthCheck, given, settings, strategies as st

from andrea_core.assembly import new_run, resumed_run
from andrea_core.errors import RunError
from andrea_core.experiment import Interrupted
from andrea_core.forking import forked_run
from andrea_core.progress import Progress
from andrea_core.runs.checkpoint import CheckpointFolder
from andrea_core.runs.replay import Recorded, replayed, verdict_of
from andrea_core.runs.store import open_run
from andrea_core.scenario import load, load_resolved

SPIKE = ("action=rewind", "factor=1.01", "window=4", "rewinds=2")
BACK = (
    *(f"optimizer.spike.{one}" for one in SPIKE),
    "run.checkpoint_every=5",
    "run.keep_checkpoints=3",
    "optimizer.warmup=4",
)
VARIANTS = (
    ("optimizer={ use = 'adamw', lr = 0.01 }",),
    ("optimizer={ use = 'muon', lr = 0.01 }", "policy={ use = 'exp3' }", "model.dropout=0.1"),
    ("optimizer={ use = 'sgd', lr = 0.5 }", "policy={ use = 'random' }", "sampler.draw=multinomial"),
)
MOST = 95
"""Steps that any of these runs takes, those that are undone included."""


def start(scenario, out, more=()):
    return new_run(load(scenario, settings=(*more, *BACK)), out, Progress(), device="cpu", threads=1)


def finish(experiment, step=None):
    try:
        experiment.run(step)
    finally:
        experiment.folder.release()


def until(make, taken, signal_number):
    """Train until so many steps were taken, undone ones too; then stop as asked by a signal, or die of SIGKILL.

    Returns whether the run came to its end before.
    """
    child = os.fork()
    if child == 0:
        try:
            experiment, step = make()
            inner, calls = experiment.trainer.step, 0

            def counted(*given):
                nonlocal calls
                inner(*given)
                calls += 1
                if calls == taken and signal_number == signal.SIGKILL:
                    os.kill(os.getpid(), signal_number)
                elif calls == taken:
                    experiment.ask_to_stop(signal_number)

            experiment.trainer.step = counted
            try:
                finish(experiment, step)
            except Interrupted:
                os._exit(3)
            os._exit(0)
        finally:
            os._exit(7)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 3, -signal.SIGKILL)
    return code == 0


STRAIGHT = {}


def straight(tiny, folder, more):
    """Return what the run that is never cut leaves; each is trained once."""
    if more not in STRAIGHT:
        assert until(lambda: (start(tiny, folder / "straight", more), None), 0, signal.SIGKILL)
        STRAIGHT[more] = contents(folder / "straight", 40), folder / "straight"
    return STRAIGHT[more]


def check_cuts(tiny, folder, more, cuts):
    whole, _ = straight(tiny, folder, more)
    out = folder / "cut"
    over = until(lambda: (start(tiny, out, more), None), *cuts[0])
    for cut in cuts[1:]:
        over = over or until(lambda: resumed_run(out, Progress()), *cut)
    over = over or until(lambda: resumed_run(out, Progress()), 0, signal.SIGKILL)
    found = contents(out, 40)

    assert over
    assert_same_contents(whole, found)


cuts = st.lists(
    st.tuples(st.integers(1, MOST), st.sampled_from([signal.SIGKILL, signal.SIGINT])), min_size=2, max_size=3
)
unhurried = settings(max_examples=1, suppress_health_check=[HealthCheck.function_scoped_fixture])
each = pytest.mark.parametrize("more", VARIANTS, ids=["adamw", "muon", "sgd"])


@each
@unhurried
@given(cuts=cuts)
def test_a_run_with_rewinds_cut_anywhere_is_the_uninterrupted_one(tiny, tmp_path_factory, more, cuts):
    check_cuts(tiny, tmp_path_factory.mktemp("run"), more, cuts)


@pytest.mark.slow
@each
@settings(unhurried, max_examples=20)
@given(cuts=cuts)
def test_a_run_with_rewinds_cut_at_many_places_is_the_uninterrupted_one(tiny, tmp_path_factory, more, cuts):
    check_cuts(tiny, tmp_path_factory.mktemp("run"), more, cuts)


@each
def test_the_record_holds_each_step_once_and_says_what_was_passed_over(tiny, tmp_path_factory, more):
    _, folder = straight(tiny, tmp_path_factory.mktemp("run"), more)
    run, position = open_run(folder), CheckpointFolder(folder / "checkpoints").load(40).arrays["state.sampler.position"]
    starts, steps, passed = (run.phases[name] for name in ("start", "steps", "passed_over"))
    texts = [text for kind, text in zip(run.events["kind"], run.events["text"], strict=True) if kind == "rewind"]

    assert len(texts) > 2
    assert all("are passed over (rewind " in text and "rows of that step: " in text for text in texts)
    assert (starts == np.cumsum(steps) - steps).all()
    assert steps.sum() == len(run.steps["loss"]) == 40
    assert (np.diff(passed, axis=0) >= 0).all()
    assert passed[-1].sum() > 0
    assert (run.phases["drawn"].sum(0) + passed[-1] == position).all()
    assert (run.phases["drawn"].sum(1) == 4 * steps).all()


@each
def test_a_replay_comes_to_the_recorded_weights(tiny, tmp_path_factory, more):
    _, folder = straight(tiny, tmp_path_factory.mktemp("run"), more)
    recorded = Recorded.of(open_run(folder))
    verdict = verdict_of(recorded, replayed(load_resolved(folder / "scenario.toml"), recorded, own=True))

    assert (verdict.first, verdict.differing) == (None, 0)


def test_no_more_than_so_many_rewinds_follow_each_other_then_spikes_are_skipped(tiny, tmp_path_factory):
    _, folder = straight(tiny, tmp_path_factory.mktemp("run"), VARIANTS[0])
    events = open_run(folder).events
    steps, kinds, texts = (np.array(events[name]).tolist() for name in ("step", "kind", "text"))
    rewinds = [(step, text) for step, kind, text in zip(steps, kinds, texts, strict=True) if kind == "rewind"]
    thrice = [step for step, text in rewinds if "(rewind 3)" in text]
    twice = [step for step, text in rewinds if "(rewind 2)" in text]

    assert not thrice
    assert twice
    assert all(sum(one == step for one, _ in rewinds) == 2 for step in twice)
    assert "spike" in kinds


def test_a_loss_that_is_no_number_rewinds_and_ends_the_run_when_no_rewind_is_left(tiny, tmp_path):
    experiment = start(tiny, tmp_path / "run", ("optimizer={ lr = 1e30, clip = 0.0 }", "phases.low=8"))
    with pytest.raises(RunError, match=r"the loss is (nan|inf) at step \d+ "):
        finish(experiment)
    experiment.record.recorder.flush()
    kinds = open_run(tmp_path / "run").events["kind"].tolist()

    assert kinds.count("rewind") == 2


def test_a_checkpoint_inside_a_phase_that_may_rewind_can_be_forked(tiny, tmp_path):
    out = tmp_path / "run"
    assert not until(lambda: (start(tiny, out, VARIANTS[0]), None), 30, signal.SIGINT)
    step = CheckpointFolder(out / "checkpoints").steps()[-1]
    made = load(tiny, settings=("run.steps=44", "optimizer.warmup=4"))
    experiment, at = forked_run(out, step, made, tmp_path / "fork", Progress(), device="cpu", threads=1)
    finish(experiment)

    assert at == step
    assert open_run(tmp_path / "fork").phases["steps"].sum() == 44
