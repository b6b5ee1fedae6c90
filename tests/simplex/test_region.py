"""The region object: immutability, shrinking, reasons, centres, membership and faces."""

import math

import attrs
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from andrea_core.errors import InfeasibleRegion
from andrea_core.simplex import Region
from andrea_core.testing.certificates import assert_member
from andrea_core.testing.geometry import feasible_bounds, regions, weights


@given(feasible_bounds(), feasible_bounds())
def test_restrict_only_shrinks(first, second):
    region = first.region()
    shared = set(first.names) & set(second.names)
    floors = {name: value for name, value in second.floors.items() if name in shared}
    caps = {name: value for name, value in second.caps.items() if name in shared}
    try:
        inner = region.restrict(floors, caps, shared.intersection(second.exclude))
    except InfeasibleRegion:
        return
    assert (inner.stated.lower >= region.stated.lower).all()
    assert (inner.stated.upper <= region.stated.upper).all()
    assert (inner.lower >= region.lower - 3e-16).all()
    assert (inner.upper <= region.upper + 3e-16).all()
    assert_member(inner, inner.centre)


def test_bounds_are_read_only_and_fields_frozen():
    region = Region.of("ab", floors={"a": 0.2})
    with pytest.raises(ValueError, match="read-only"):
        region.lower[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        region.upper[0] = 0.0
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        region.stated = None


def test_effective_bounds_are_tightened_and_stated_ones_kept():
    region = Region.of("abc", floors={"a": 0.5, "b": 0.25}, caps={"c": 0.125})
    assert region.lower.tolist() == [0.5, 0.25, 0.0]
    assert region.upper.tolist() == [0.75, 0.5, 0.125]
    assert region.stated.upper.tolist() == [1.0, 1.0, 0.125]
    assert Region.of("ab", caps={"a": 0.25}).lower.tolist() == [0.0, 0.75]


def test_each_bound_knows_its_reason():
    region = Region.of("abc", floors={"a": 0.5}, reason="floors of polish").restrict(caps={"c": 0.25}, exclude="b")
    assert region.lower_reasons == ("implied by the other bounds", "", "")
    assert region.upper_reasons == ("", "exclusion", "cap")
    assert region.stated.floor(0).reason == "floors of polish"
    tighter = region.restrict(floors={"a": 0.4}, reason="weaker")
    assert tighter.stated.floor(0).reason == "floors of polish"


def test_excluded_sources_are_positive_zero_everywhere():
    region = Region.of("abcd", caps={"a": 0.0}, exclude=["c"], floors={"d": -0.0})
    for w in (region.centre, region.project([-1.0, -0.0, -5.0, 0.3]), region.vertex([9, 1, 9, 0]), *region.vertices()):
        assert w[0] == 0.0
        assert w[2] == 0.0
        assert not np.signbit(w).any()


@given(regions())
def test_centre_has_equal_relative_slack_and_full_face(region):
    w = region.centre
    assert_member(region, w)
    assert region.face_dimension(w) == region.dimension or region.upper[region.upper > region.lower].size < 2
    width = region.upper - region.lower
    wide = width > 1e-6
    if wide.any():
        share = (w - region.lower)[wide] / width[wide]
        assert np.ptp(share) < 1e-9


@settings(max_examples=60)
@given(regions(min_sources=2, max_sources=6))
def test_chebyshev_radius_equals_the_linear_program(region):
    centre, radius = region.chebyshev()
    assert_member(region, centre)
    if region.is_point:
        assert radius == 0.0
        return
    free = region.box.free
    reach = math.sqrt(1 - 1 / len(free))
    lower, upper = region.lower[free], region.upper[free]
    # In units of the widest side and from the lower corner, for the program's own tolerance is absolute.
    unit = float((upper - lower).max())
    eye, ones = np.eye(len(free)), np.full((len(free), 1), reach)
    program = linprog(
        np.append(np.zeros(len(free)), -1.0),
        A_ub=np.block([[-eye, ones], [eye, ones]]),
        b_ub=np.concatenate([np.zeros(len(free)), (upper - lower) / unit]),
        A_eq=np.append(np.ones(len(free)), 0.0)[None],
        b_eq=[math.fsum([1.0, *(-region.lower).tolist()]) / unit],
        bounds=[(None, None)] * (len(free) + 1),
    )
    assert radius / unit == pytest.approx(-program.fun, abs=1e-7)
    slack = np.minimum(centre[free] - lower, upper - centre[free])
    assert slack.min() >= radius * reach - 1e-14


@given(st.data())
def test_contains_agrees_with_check_and_sees_a_change_of_one_unit(data):
    region = data.draw(regions(min_sources=2))
    w = data.draw(weights(region))
    assert region.contains(w)
    assert region.check(w) == []
    i = data.draw(st.integers(0, len(w) - 1))
    for bad in (region.upper[i] + 1e-9, region.lower[i] - 1e-9, math.nan, -0.0 if w[i] == 0 else -w[i]):
        wrong = w.copy()
        wrong[i] = bad
        assert not region.contains(wrong)
        assert any(region.names[i] in line for line in region.check(wrong))


def test_check_says_what_is_wrong_and_why():
    region = Region.of("abc", floors={"a": 0.5}, caps={"b": 0.2}, exclude="c", reason="stage polish")
    lines = region.check([0.25, 0.5, 0.125])
    assert lines == [
        "a = 0.25 is below 0.8 (implied by the other bounds)",
        "b = 0.5 is above 0.2 (stage polish)",
        "c = 0.125 is above 0.0 (stage polish)",
        "the weights sum to 0.875, not to 1.0",
    ]
    assert region.check([1.0]) == ["expected 3 weights, one a source, got shape (1,)"]
    assert region.check([math.nan, 0, 0]) == ["the weight of a is nan"]


def test_dimension_faces_and_active_bounds_of_a_worked_case():
    region = Region.of("abcd", floors={"a": 0.25}, caps={"b": 0.25}, exclude="d")
    assert region.dimension == 2
    assert region.face_dimension([0.5, 0.125, 0.375, 0]) == 2
    assert region.face_dimension([0.5, 0.25, 0.25, 0]) == 1
    assert region.face_dimension([1.0, 0, 0, 0]) == 0
    lower, upper = region.active([0.25, 0.25, 0.5, 0.0])
    assert lower.tolist() == [True, False, False, True]
    assert upper.tolist() == [False, True, False, True]


def test_one_source_alone_takes_everything():
    region = Region.of(["only"])
    assert region.is_point
    assert region.centre.tolist() == [1.0]
    assert region.vertices().tolist() == [[1.0]]
    assert region.project([7.0]).tolist() == [1.0]
    assert region.sample(np.random.default_rng(0), 3).tolist() == [[1.0]] * 3
