"""The rules that end a stage: found where they are, never before, and told in words."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core import Findings, Measurement, Observation, Outcome, ScenarioError
from andrea_core.testing.worlds import make_sources
from andrea_plugins.curricula import Cliff, Plateau, Threshold
from andrea_plugins.curricula.rules import neighbouring_rise

SOURCES = make_sources(("a", "b"))
NOTHING = Findings({})


def outcome(losses, step, sources=None):
    """A phase of one row of 10 tokens a step, with these losses in nats a token, from these sources."""
    source = np.zeros(len(losses), np.int64) if sources is None else np.array(sources)
    tokens = np.full((len(losses), 1), 10)
    seen = Observation(np.array(losses, float)[:, None] * 10, tokens, source[:, None], np.array([0.5, 0.5]), step)
    share = np.bincount(source, minlength=2) / len(source)
    return Outcome(step, 0, seen.weights, share, np.zeros(2), share > 0, seen.loss_by_source(), seen)


def run(rule, phases, findings=None):
    """The reasons that a rule gives after each phase of a list of (losses, sources)."""
    memory, step, reasons = rule.start(SOURCES), 0, []
    for losses, sources in phases:
        step += len(losses)
        memory, why = rule.look(memory, outcome(losses, step, sources), NOTHING if findings is None else findings)
        reasons.append(why)
    return reasons


def test_a_cliff_is_found_in_its_phase_and_named_with_its_step():
    reasons = run(Cliff(nats=3.0, window=2), [([5, 5, 5, 5], None), ([5, 5, 1, 1], None), ([1, 1, 1, 1], None)])

    assert reasons == ["", "cliff: the loss fell by 4 nats a token within 2 steps, at step 8", ""]


def test_a_cliff_across_a_phase_border_is_found():
    assert run(Cliff(nats=2.0, window=3), [([5, 5, 5], None), ([1, 1, 1], None)])[1].endswith("at step 6")


def test_before_two_windows_are_full_nothing_is_a_cliff():
    assert run(Cliff(nats=0.1, window=5), [([9, 1, 9, 1, 9, 1, 9, 1, 9], None)]) == [""]


@pytest.mark.parametrize(
    ("way", "falls", "jumps"), [("fall", True, False), ("jump", False, True), ("either", True, True)]
)
def test_a_cliff_counts_in_its_way_only(way, falls, jumps):
    rule = Cliff(nats=2.0, window=2, way=way)

    assert bool(run(rule, [([5, 5, 1, 1], None)])[0]) is falls
    assert bool(run(rule, [([1, 1, 5, 5], None)])[0]) is jumps


def test_a_cliff_of_one_source_does_not_see_the_others():
    phases = [([5, 9, 5, 1, 5, 1, 5, 1], [0, 1] * 4)]

    assert run(Cliff(nats=2.0, window=2, sources=("a",)), phases) == [""]
    assert "the loss of b fell by 4" in run(Cliff(nats=2.0, window=2, sources=("b",)), phases)[0]


def test_a_cliff_ignores_losses_that_are_no_numbers():
    assert run(Cliff(nats=2.0, window=2), [([5, np.inf, 5, np.nan, 5, 5], None)]) == [""]


@given(st.lists(st.floats(-100, 100), max_size=30), st.integers(1, 6))
def test_rises_are_the_differences_of_neighbouring_window_means(values, window):
    values = np.array(values)
    expected = [
        values[end - window : end].mean() - values[end - 2 * window : end - window].mean()
        for end in range(2 * window, len(values) + 1)
    ]

    assert neighbouring_rise(values, window) == pytest.approx(np.array(expected), abs=1e-9)


@given(st.lists(st.lists(st.floats(0, 10), min_size=1, max_size=7), min_size=1, max_size=8), st.integers(1, 4))
def test_how_a_run_is_cut_into_phases_changes_nothing_about_where_the_first_cliff_is(phases, window):
    rule = Cliff(nats=3.0, window=window)
    whole = run(rule, [([loss for phase in phases for loss in phase], None)])[0]
    pieces = [why for why in run(rule, [(phase, None) for phase in phases]) if why]

    assert pieces[:1] == ([whole] if whole else [])


def test_a_plateau_needs_its_number_of_values_and_a_line_that_hardly_falls():
    falling = [([5 - 0.1 * i], None) for i in range(10)]
    flat = [([4.0], None)] * 3

    assert run(Plateau(fall=0.05, over=4), falling) == [""] * 10
    assert [bool(why) for why in run(Plateau(fall=0.05, over=4), falling[:3] + flat + flat)] == [False] * 6 + [True] * 3
    assert run(Plateau(fall=0.05, over=4), [*falling[:1], *flat])[-1] == ""


def test_a_plateau_says_by_how_little_the_line_fell():
    reason = run(Plateau(fall=0.5, over=3), [([3.0], None), ([2.9], None), ([2.8], None)])[-1]

    assert reason == "plateau: the loss fell by 0.2 over 3 values, less than 0.5"


def test_a_rising_loss_is_a_plateau_too():
    assert run(Plateau(fall=0.01, over=3), [([1.0], None), ([2.0], None), ([3.0], None)])[-1]


def test_a_plateau_of_a_probe_moves_only_when_the_probe_looked():
    rule = Plateau(fall=0.1, over=2, probe="heldout", sources=("b",))
    memory = rule.start(SOURCES)
    for bits in ([9.0, 2.0], None, [1.0, np.nan], [0.0, 1.95]):
        found = {} if bits is None else {"heldout": {"bits_per_byte": Measurement(np.array(bits))}}
        memory, why = rule.look(memory, outcome([1.0], 1), Findings(found))

    assert why == "plateau: heldout.bits_per_byte fell by 0.05 over 2 values, less than 0.1"


def scores(rule, values):
    memory, reasons = rule.start(SOURCES), []
    for value in values:
        found = Findings({} if value is None else {"text_health": {"score": Measurement(value)}})
        memory, why = rule.look(memory, outcome([1.0], 1), found)
        reasons.append(why)
    return reasons


def test_a_threshold_counts_looks_in_a_row_and_phases_without_a_look_change_nothing():
    rule = Threshold("text_health", "score", below=30, looks=2)

    assert [bool(why) for why in scores(rule, [20.0, 40.0, 20.0, None, 29.0])] == [False] * 4 + [True]
    assert scores(rule, [20.0, 25.0])[-1] == "probe: text_health.score is 25, below 30, 2 times in a row"


def test_a_threshold_above_fires_above_only():
    assert [bool(why) for why in scores(Threshold("text_health", "score", above=50.0), [50.0, 50.1])] == [False, True]


def test_a_measurement_that_is_not_there_is_an_error_that_lists_those_that_are():
    rule = Threshold("text_health", "scroe", below=30)
    found = Findings({"text_health": {"score": Measurement(1.0), "text": Measurement("x")}})

    with pytest.raises(ScenarioError, match="measures no number called 'scroe'; its numbers are score"):
        rule.look(rule.start(SOURCES), outcome([1.0], 1), found)


def test_a_threshold_has_one_side():
    for sides in ({}, {"below": 1.0, "above": 2.0}):
        with pytest.raises(ValueError, match="below and above: give one of them"):
            Threshold("text_health", "score", **sides)
