"""Distance to the nearest vertex: exact against enumeration, bounds that hold it otherwise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from andrea_core.simplex import Group, Region, Row
from andrea_core.testing.geometry import regions
from andrea_core.testing.grouped import grouped_regions, regions_with_rows


def names(n):
    return [f"s{i}" for i in range(n)]


def enumerated(region, w):
    return min(math.dist(w.tolist(), vertex.tolist()) for vertex in region.vertices())


@given(regions(max_sources=8), st.integers(0, 2**32))
def test_the_distance_is_that_of_the_enumerated_vertices(region, seed):
    w = region.sample(np.random.default_rng(seed))
    found = region.distance_to_nearest_vertex(w)
    assert found.exact
    assert found.lower == found.upper == pytest.approx(enumerated(region, w), abs=1e-15)


@given(regions(min_sources=2, max_sources=9), st.integers(0, 2**32))
def test_without_enumeration_the_bounds_hold_the_distance(region, seed):
    w = region.sample(np.random.default_rng(seed))
    found = region.distance_to_nearest_vertex(w, limit=1)
    assert found.lower <= enumerated(region, w) + 1e-15
    assert found.upper >= enumerated(region, w) - 1e-15


def test_floors_alone_are_exact_for_any_number_of_sources():
    n = 3000
    region = Region.of(names(n), {"s7": 0.5, "s8": 0.1})
    w = region.sample(np.random.default_rng(0))
    corner = region.lower.copy()
    corner[np.argmax(w - region.lower)] += region.box.above
    found = region.distance_to_nearest_vertex(w, limit=1)
    assert found.exact
    assert found.upper == pytest.approx(math.dist(w, corner), rel=1e-14)


def test_a_vertex_is_at_distance_zero():
    region = Region.of(names(6), {"s0": 0.2}, dict.fromkeys(names(6), 0.4))
    for vertex in region.vertices():
        assert region.distance_to_nearest_vertex(vertex).upper == 0.0


def test_a_vertex_is_at_distance_zero_also_without_enumeration():
    region = Region.of(names(60), {}, dict(zip(names(60), np.linspace(0.02, 0.06, 60), strict=True)))
    vertex = region.vertex(np.random.default_rng(1).normal(size=60))
    found = region.distance_to_nearest_vertex(vertex)
    assert not found.exact
    assert found.lower == found.upper == 0.0


def test_bounds_are_close_for_many_sources():
    region = Region.of(names(64), {}, dict(zip(names(64), np.linspace(0.01, 0.06, 64), strict=True)))
    for seed in range(5):
        found = region.distance_to_nearest_vertex(region.sample(np.random.default_rng(seed)))
        assert not found.exact
        assert 0.0 < found.lower <= found.upper < 1.5 * found.lower


def test_group_bounds_are_exact_while_their_vertices_can_be_enumerated():
    region = Region.of("abcd", {"a": 0.1}, {"b": 0.5}, groups=[Group(("a", "b"), at_least=0.4, at_most=0.7)])
    w = region.sample(np.random.default_rng(3))
    found = region.distance_to_nearest_vertex(w)
    assert found.exact
    assert found.upper == enumerated(region, w)
    bounds = region.distance_to_nearest_vertex(w, limit=2)
    assert not bounds.exact
    assert bounds.lower <= found.lower <= bounds.upper


@given(grouped_regions(max_sources=6), st.integers(0, 2**32))
def test_under_groups_the_bounds_hold_the_distance(region, seed):
    w = region.sample(np.random.default_rng(seed))
    found = region.distance_to_nearest_vertex(w, limit=0 if region.is_point else 1)
    assert found.lower <= enumerated(region, w) + 1e-12
    assert found.upper >= enumerated(region, w) - 1e-12


@settings(max_examples=20)
@given(regions_with_rows(max_sources=6), st.integers(0, 2**32))
def test_under_rows_the_bounds_hold_the_distance(region, seed):
    w = region.sample(np.random.default_rng(seed))
    exact, found = region.distance_to_nearest_vertex(w), region.distance_to_nearest_vertex(w, limit=0)
    assert exact.exact
    assert exact.upper == pytest.approx(enumerated(region, w), abs=1e-12)
    assert found.lower - 1e-7 <= exact.lower <= found.upper + 1e-7


def test_rows_in_many_dimensions_give_bounds():
    region = Region.of(names(16), rows=[Row({"s0": 1, "s1": -2}, at_most=0)])
    found = region.distance_to_nearest_vertex(region.centre)
    assert not found.exact
    assert 0.0 < found.lower <= found.upper


def test_a_point_is_its_own_vertex():
    region = Region.of("ab", {"a": 0.5}, {"a": 0.5})
    assert region.distance_to_nearest_vertex([0.5, 0.5]).upper == 0.0


def test_wrong_shapes_and_numbers_are_refused():
    region = Region.of("abc")
    with pytest.raises(ValueError, match="finite"):
        region.distance_to_nearest_vertex([math.nan, 0, 1])
    with pytest.raises(ValueError, match="one weight vector"):
        region.distance_to_nearest_vertex(np.zeros((2, 3)))
