"""The reactive curriculum: bounds, order, reasons, what it foresees, and what it refuses."""

import attrs
import numpy as np
import pytest

from andrea_core import Findings, Outcome
from andrea_core.reshaping import scaled
from andrea_core.testing import check_curriculum
from andrea_core.testing.worlds import NAMES, draw_outcome, make_sources
from andrea_plugins.curricula import Cliff, Plateau, Reactive, ReactiveStage, Threshold

ALWAYS = Plateau(fall=1e9, over=2)
"""A rule that holds from a stage's second phase on."""
NEVER = Cliff(nats=1e9)


def reactive(*bounds, rule=ALWAYS):
    """Stages s0, s1, ... with (at_least, at_most), then a last one."""
    stages = [ReactiveStage(f"s{i}", low, high, plateau=rule) for i, (low, high) in enumerate(bounds)]
    return Reactive((*stages, ReactiveStage("last")))


def walk(curriculum, steps, length=10):
    """(stage of each phase, the state at the end) of a run with phases of a length, cut at borders."""
    state, step, seen = curriculum.start(make_sources(NAMES)), 0, []
    rng = np.random.default_rng(0)
    while step < steps:
        stage = curriculum.stage(state, step)
        step = min(step + length, stage.until)
        seen.append(stage)
        outcome: Outcome = attrs.evolve(draw_outcome(np.full(4, 0.25), 0, rng), step=step)
        state = curriculum.update(state, outcome, Findings({}))
    return seen, state


def starts(stages):
    return {stage.name: stage.start for stage in stages}


def test_a_rule_ends_a_stage_at_a_phase_border_but_not_before_at_least():
    assert starts(walk(reactive((1, None)), 60)[0]) == {"s0": 0, "last": 20}
    assert starts(walk(reactive((35, None)), 60)[0]) == {"s0": 0, "last": 40}


def test_at_most_ends_a_stage_whose_rules_never_hold():
    seen, _ = walk(reactive((1, 25), (5, 17), rule=None), 60)

    assert starts(seen) == {"s0": 0, "s1": 25, "last": 42}
    assert seen[-1].reason == "s1 has lasted its 17 steps"


def test_each_stage_counts_its_steps_from_its_own_start():
    assert starts(walk(reactive((20, 90), (30, 90)), 80)[0]) == {"s0": 0, "s1": 20, "last": 50}


def test_the_reason_stays_with_the_stage_that_it_began():
    seen, state = walk(reactive((1, None)), 60)

    assert "plateau: the loss fell by" in seen[-1].reason
    assert seen[0].reason == ""
    assert state.reasons == ("", seen[-1].reason)


def test_what_happens_lies_within_what_was_foreseen():
    curriculum = reactive((20, 45), (30, 60), (1, 10))
    foreseen = {stage.name: stage for stage in curriculum.possible(500)}

    assert [(s.start, s.until) for s in list(foreseen.values())[:3]] == [(0, 45), (20, 105), (50, 115)]
    for length in (1, 7, 30):
        for stage in walk(curriculum, 300, length)[0]:
            assert foreseen[stage.name].start <= stage.start
            assert stage.until <= foreseen[stage.name].until


def test_without_a_rule_the_clock_alone_decides_and_the_plan_is_settled():
    stages = reactive((1, 20), (1, 30), rule=None).possible(100)

    assert [(s.start, s.until) for s in stages[:2]] == [(0, 20), (20, 50)]


def test_spans_scale_and_windows_stay():
    curriculum = Reactive((ReactiveStage("s", 100, 1000, cliff=Cliff(nats=1.0, window=40)), ReactiveStage("last")))
    half = scaled(curriculum, 0.5).stages[0]

    assert (half.at_least, half.at_most, half.cliff.window) == (50, 500, 40)


def test_it_names_the_probes_that_it_waits_for():
    stages = (
        ReactiveStage(
            "s", plateau=Plateau(fall=0.1, probe="heldout"), probe=Threshold("text_health", "score", below=3)
        ),
        ReactiveStage("last"),
    )

    assert Reactive(stages).watches == {"heldout", "text_health"}


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ((), "needs at least one stage"),
        ((ReactiveStage("s"), ReactiveStage("last")), "stage 's' never ends; give it a cliff"),
        ((ReactiveStage("s", at_most=5),), "is the last and lasts to the end of the run"),
        ((ReactiveStage("s", at_most=5), ReactiveStage("s")), "two stages are called 's'"),
        ((ReactiveStage("s", at_most=5, sources=()), ReactiveStage("t")), "must name at least one source"),
        ((ReactiveStage("s", at_most=5, sources=("a", "a")), ReactiveStage("t")), "and none twice"),
    ],
)
def test_stages_that_make_no_sense_are_refused(stages, message):
    with pytest.raises(ValueError, match=message):
        Reactive(stages)


def test_bounds_out_of_order_are_refused():
    with pytest.raises(ValueError, match="at_most must be at least at_least, 9 steps, got 5"):
        ReactiveStage("s", 9, 5)


@pytest.mark.parametrize(
    "curriculum",
    [
        reactive((300, 500), (10, None)),
        reactive((1, 77), rule=None),
        Reactive((ReactiveStage("s", 5, 900, ("a",), cliff=Cliff(nats=1.0, window=2)), ReactiveStage("last"))),
        Reactive((ReactiveStage("s", probe=Threshold("trial", "value", above=40.0)), ReactiveStage("last"))),
    ],
    ids=["plateau", "clock", "cliff", "probe"],
)
def test_it_keeps_the_contract(curriculum):
    check_curriculum(curriculum, steps=2000)
