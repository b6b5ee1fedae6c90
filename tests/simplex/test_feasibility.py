"""Feasibility: the exact rule, points within rounding, and minimal explanations of clashes."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from andrea_core.errors import InfeasibleRegion, ScenarioError
from andrea_core.simplex import Region
from andrea_core.testing.certificates import assert_member
from andrea_core.testing.geometry import feasible_bounds, infeasible_bounds, regions


def region_from(names, clash):
    return Region.of(
        names,
        {bound.source: bound.value for bound in clash if bound.kind == "floor"},
        {bound.source: bound.value for bound in clash if bound.kind == "cap"},
        [bound.source for bound in clash if bound.kind == "exclusion"],
    )


@settings(max_examples=300)
@given(feasible_bounds())
def test_bounds_around_a_witness_are_never_refused(stated):
    assert_member(stated.region(), stated.region().centre)


@settings(max_examples=300)
@given(infeasible_bounds())
def test_a_clash_is_infeasible_alone_and_feasible_without_any_one_of_its_bounds(stated):
    with pytest.raises(InfeasibleRegion) as caught:
        stated.region()
    clash = caught.value.clash
    assert {bound.kind for bound in clash} <= {"floors": {"floor"}, "caps": {"cap", "exclusion"}}.get(
        stated.clash, {"floor", "cap", "exclusion"}
    )
    with pytest.raises(InfeasibleRegion):
        region_from(stated.names, clash)
    for i in range(len(clash)):
        region_from(stated.names, clash[:i] + clash[i + 1 :])


@given(infeasible_bounds())
def test_the_excess_is_what_exact_arithmetic_says(stated):
    with pytest.raises(InfeasibleRegion) as caught:
        stated.region()
    floors = [Fraction(x) for x in stated.floors.values()]
    caps = [Fraction(stated.caps.get(name, 0.0 if name in stated.exclude else 1.0)) for name in stated.names]
    if stated.clash == "crossed":
        (name,) = stated.floors
        expected = Fraction(stated.floors[name]) - Fraction(stated.caps[name])
    else:
        expected = sum(floors) - 1 if stated.clash == "floors" else 1 - sum(caps)
    assert caught.value.excess == pytest.approx(float(expected), rel=1e-12, abs=1e-16)


@given(infeasible_bounds())
def test_doing_what_the_repair_says_leaves_weights(stated):
    with pytest.raises(InfeasibleRegion) as caught:
        stated.region()
    changed = re.search(r"example (\S+) from \S+ to (\S+)$", caught.value.repair)
    floors, caps, exclude = dict(stated.floors), dict(stated.caps), stated.exclude
    if changed:
        (floors if stated.clash == "floors" else caps)[changed[1]] = float(changed[2])
    elif "admit a source" in caught.value.repair:
        exclude = exclude[1:]
    elif stated.clash == "floors":
        share = 1 / sum(floors.values())
        floors = {name: value * share for name, value in floors.items()}
        assert f"lower floors by {caught.value.excess:.6g} in total" == caught.value.repair
    else:
        assert re.match(r"(lower the floor to|drop the floor)", caught.value.repair)
        floors = caps
    assert_member(Region.of(stated.names, floors, caps, exclude), Region.of(stated.names, floors, caps, exclude).centre)


def test_floors_that_ask_too_much_are_named_with_reason_amount_and_repair():
    base = Region.of(["chat", "code", "poems"], floors={"chat": 0.7, "poems": 0.01}, reason="floors of stage polish")
    with pytest.raises(InfeasibleRegion) as caught:
        base.restrict(floors={"code": 0.4}, reason="max_change")
    message = str(caught.value)
    assert "floor 0.7 of chat (floors of stage polish) and floor 0.4 of code (max_change) sum to 1.1" in message
    assert "lower floors by 0.11 in total, for example chat from 0.7 to 0.59" in message
    assert [bound.source for bound in caught.value.clash] == ["chat", "code"]
    assert caught.value.excess == pytest.approx(0.11)
    base.restrict(floors={"code": 0.29})


def test_caps_that_allow_too_little_list_exclusions_apart_and_say_the_shortfall():
    with pytest.raises(
        InfeasibleRegion, match=r"cap 0.3 of a and cap 0.4 of b and exclusion of c leave room for 0.7"
    ) as e:
        Region.of("abc", caps={"a": 0.3, "b": 0.4}, exclude="c")
    assert "raise caps by 0.3 in total, for example b from 0.4 to 0.7" in e.value.repair
    assert Region.of("abc", caps={"a": 0.3, "b": 0.7}, exclude="c").is_point


def test_a_floor_on_an_excluded_source_names_both():
    with pytest.raises(
        InfeasibleRegion, match=r"floor 0.2 of a \(polish\) lies 0.2 above exclusion of a \(warm-up\)"
    ) as e:
        Region.of("abc", exclude=["a"], reason="warm-up").restrict(floors={"a": 0.2}, reason="polish")
    assert e.value.repair == "drop the floor or admit a again"


def test_excluding_every_source_is_explained():
    with pytest.raises(InfeasibleRegion, match="admit a source"):
        Region.of("ab", exclude=("a", "b"))


@pytest.mark.parametrize(
    "shares", [[0.7, 0.2, 0.1], [0.1] * 10, [0.01] * 100, [0.001] * 1000, [1 / 49] * 49, [1 / 6] * 6]
)
@pytest.mark.parametrize("kind", ["floors", "caps", "both"])
def test_decimals_that_sum_to_one_leave_exactly_one_point(shares, kind):
    names = [f"s{i}" for i in range(len(shares))]
    bounds = dict(zip(names, shares, strict=True))
    region = Region.of(names, bounds if kind != "caps" else {}, bounds if kind != "floors" else {})
    assert region.is_point
    assert region.dimension == 0
    np.testing.assert_allclose(region.centre, shares, atol=3e-16)
    for w in (region.centre, region.project(np.arange(len(names))), region.sample(np.random.default_rng(0))):
        assert_member(region, w)
        assert w.tobytes() == region.centre.tobytes()


def test_a_point_within_rounding_is_said():
    region = Region.of([f"s{i}" for i in range(10)], floors={f"s{i}": 0.1 for i in range(10)})
    assert region.rounding == -(2.0**-54)
    assert "one point within rounding" in region.note
    assert Region.of("ab", floors={"a": 0.5, "b": 0.5}).note == ""
    assert Region.of("ab").note == ""


def test_computed_floors_are_accepted_within_1e_12_and_refused_beyond():
    floors = {"a": 0.5, "b": 0.5 + 4e-13}
    region = Region.of("ab", floors=floors)
    assert region.is_point
    assert region.total == math.fsum(floors.values()) != 1.0
    assert region.rounding == pytest.approx(-4e-13, rel=1e-3)
    assert region.check(region.centre) == []
    with pytest.raises(InfeasibleRegion):
        Region.of("ab", floors={"a": 0.5, "b": 0.5 + 4e-12})


@given(regions(), st.data())
def test_effective_bounds_are_attained(region, data):
    i = data.draw(st.integers(0, len(region.names) - 1))
    score = np.zeros(len(region.names))
    score[i] = 1.0
    assert region.vertex(score)[i] == pytest.approx(region.upper[i], abs=3e-16)
    assert region.vertex(-score)[i] == pytest.approx(region.lower[i], abs=3e-16)


def test_unknown_sources_get_the_nearest_spelling():
    with pytest.raises(ScenarioError, match="did you mean 'hermes3-general'"):
        Region.of(["hermes3-general", "chat"], floors={"hermes-general": 0.7})
    with pytest.raises(ScenarioError, match="known are a, b"):
        Region.of("ab", exclude=["zebra"])


@pytest.mark.parametrize("value", [-0.1, 1.5, math.nan, math.inf])
def test_bounds_outside_the_unit_interval_are_refused(value):
    with pytest.raises(ScenarioError, match="floor of a must be between 0 and 1"):
        Region.of("ab", floors={"a": value})


def test_a_region_needs_sources_and_distinct_names():
    with pytest.raises(ScenarioError, match="at least one source"):
        Region.of([])
    with pytest.raises(ScenarioError, match="'a' is named twice"):
        Region.of("aba")
