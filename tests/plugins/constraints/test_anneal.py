"""The constraint set anneal: bounds that move in a straight line."""

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core import Region, ScenarioError
from andrea_core.testing import check_constraint_set
from andrea_core.testing.geometry import feasible_bounds
from andrea_core.testing.worlds import make_context, make_sources
from andrea_plugins.constraints import Anneal, BoundSet

NAMES = ("H", "G", "D")
BEFORE, AFTER = BoundSet(floors={"H": 0.1}), BoundSet(floors={"H": 0.7}, caps={"D": 0.0})
UNEQUAL = Anneal(BEFORE, AFTER, start=100, steps=200)


def at(step, anneal=UNEQUAL, names=NAMES, stage_start=0):
    context = make_context(make_sources(names), 0, np.random.default_rng(0))
    context = attrs.evolve(context, step=step, stage_start=stage_start)
    return anneal.restrict(Region.of(names), context)


@pytest.mark.parametrize(
    ("step", "floor", "cap"),
    [(0, 0.1, 1.0), (100, 0.1, 1.0), (200, 0.4, 0.5), (250, 0.55, 0.25), (300, 0.7, 0.0), (10**9, 0.7, 0.0)],
)
def test_bounds_move_in_a_straight_line_and_rest_before_and_after(step, floor, cap):
    region = at(step)

    assert region.stated.lower[0] == pytest.approx(floor, rel=4e-16)
    assert region.stated.upper[2] == pytest.approx(cap, rel=4e-16, abs=0)


def test_both_ends_are_the_stated_bounds_bit_for_bit():
    anneal = Anneal(BoundSet(floors={"H": 0.1, "G": 0.3}), BoundSet(floors={"H": 0.7, "G": 0.1}), steps=7)

    assert at(0, anneal).stated.lower.tolist() == [0.1, 0.3, 0.0]
    assert at(7, anneal).stated.lower.tolist() == [0.7, 0.1, 0.0]


def test_a_cap_that_arrives_at_0_excludes():
    assert at(299).dimension == 2
    assert at(300).dimension == 1
    assert at(300).upper[2] == 0.0


def test_without_a_start_the_way_begins_with_the_stage():
    anneal = attrs.evolve(UNEQUAL, start=None)

    assert at(1050, anneal, stage_start=1000).stated.lower[0] == pytest.approx(0.25)


def test_the_reason_says_how_far_the_way_is():
    assert at(200).lower_reasons[0] == "anneal of stage 'trial', 50% of the way"


def test_an_unknown_source_is_named():
    anneal = Anneal(BoundSet(), BoundSet(caps={"d": 0.1}), steps=1)
    with pytest.raises(ScenarioError, match="anneal of stage 'trial': no source is called 'd'; there is D, G, H"):
        at(0, anneal)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"steps": 1, "start": -1}])
def test_spans_that_are_none_are_refused(wrong):
    with pytest.raises(ValueError, match="must be at least"):
        Anneal(BEFORE, AFTER, **wrong)


def ends(stated, names):
    """The bounds of a set of three to six sources, as one end of the way."""
    place = dict(zip(stated.names, names, strict=True))
    caps = {place[name]: cap for name, cap in stated.caps.items()} | {place[name]: 0.0 for name in stated.exclude}
    return BoundSet({place[name]: floor for name, floor in stated.floors.items()}, caps)


@given(data=st.data(), count=st.integers(1, 6), step=st.integers(0, 100))
def test_between_two_feasible_sets_every_step_is_feasible_and_holds_the_mixed_weights(data, count, step):
    names = tuple("abcdef"[:count])
    before, after = (ends(data.draw(feasible_bounds(count, count)), names) for _ in range(2))
    anneal = Anneal(before, after, start=0, steps=100)
    first, last, region = (at(moment, anneal, names) for moment in (0, 100, step))
    mixed = (1 - step / 100) * first.centre + step / 100 * last.centre

    assert (mixed >= region.lower - 1e-12).all()
    assert (mixed <= region.upper + 1e-12).all()


def test_it_keeps_the_contract_of_constraint_sets():
    for start in (0, 250, 10_000):
        check_constraint_set(Anneal(BEFORE, AFTER, start=start, steps=300), names=("H", "G", "D", "x"))
