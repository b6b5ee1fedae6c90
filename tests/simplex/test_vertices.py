"""Vertices: linear maximisation against enumeration and linear programming, counts, limits."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from andrea_core.errors import AndreaError
from andrea_core.simplex import Region
from andrea_core.testing.certificates import assert_member
from andrea_core.testing.geometry import regions, scores, weights


def test_the_vertices_of_the_half_and_quarter_example_are_the_four_known_ones():
    region = Region.of(("H", "C", "D"), floors={"H": 0.5}, caps={"D": 0.25})
    assert region.vertices().tolist() == [[1, 0, 0], [0.75, 0, 0.25], [0.5, 0.5, 0], [0.5, 0.25, 0.25]]


@pytest.mark.parametrize(("n", "cap", "count"), [(8, 0.25, 70), (8, 0.3, 280), (5, 0.4, 30), (6, 1.0, 6), (4, 0.25, 1)])
def test_equal_caps_have_the_known_number_of_vertices(n, cap, count):
    names = [f"s{i}" for i in range(n)]
    assert len(Region.of(names, caps=dict.fromkeys(names, cap)).vertices()) == count


@settings(max_examples=150)
@given(regions(max_sources=6))
def test_vertices_are_members_at_corners_and_all_that_brute_force_finds(region):
    found = region.vertices()
    for w in found:
        assert_member(region, w)
        assert region.face_dimension(w) == 0
    expected = brute_force(region.lower, region.upper)
    for point in expected:
        assert np.abs(found - point).max(axis=1).min() < 1e-14
    for w in found:
        assert np.abs(expected - w).max(axis=1).min() < 1e-14


def brute_force(lower, upper):
    points = []
    for j in range(len(lower)):
        for corner in itertools.product(*[(0, 1)] * (len(lower) - 1)):
            pattern = np.insert(np.array(corner, dtype=bool), j, False)
            w = np.where(pattern, upper, lower)
            w[j] = 1 - math.fsum(np.delete(w, j))
            if lower[j] - 1e-15 <= w[j] <= upper[j] + 1e-15:
                points.append(w)
    return np.array(points)


@settings(max_examples=200)
@given(st.data())
def test_the_best_vertex_is_a_member_and_beats_every_member(data):
    region = data.draw(regions())
    score = data.draw(scores(region))
    w = region.vertex(score)
    assert_member(region, w)
    inner = (w > region.lower) & (w < region.upper) & (region.upper - region.lower > 2.0**-50)
    assert inner.sum() <= 1
    other = data.draw(weights(region))
    finite = np.clip(score, -1e3, 1e3)
    best = region.vertex(finite)
    assert math.fsum(finite * best) >= math.fsum(finite * other) - 1e-12
    np.testing.assert_array_equal(region.vertex(np.array([score, score]))[1], w)


@settings(max_examples=100)
@given(st.data())
def test_the_best_vertex_equals_the_maximum_over_all_vertices(data):
    region = data.draw(regions(max_sources=7))
    score = np.clip(data.draw(scores(region)), -10, 10)
    assert float(score @ region.vertex(score)) == pytest.approx(float((region.vertices() @ score).max()), abs=1e-14)


@pytest.mark.parametrize("seed", range(10))
def test_the_best_vertex_equals_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 20))
    witness = rng.dirichlet(np.ones(n))
    lower, upper = witness * rng.random(n), witness + (1 - witness) * rng.random(n) * 0.3
    names = [f"s{i}" for i in range(n)]
    region = Region.of(names, dict(zip(names, lower, strict=True)), dict(zip(names, upper, strict=True)))
    score = rng.normal(size=n)
    program = linprog(-score, A_eq=np.ones((1, n)), b_eq=[1], bounds=list(zip(lower, upper, strict=True)))
    assert float(score @ region.vertex(score)) == pytest.approx(-program.fun, abs=1e-12)


def test_ties_go_to_the_smaller_index_and_infinities_rank_at_the_ends():
    region = Region.of("abc", caps=dict.fromkeys("abc", 0.5))
    assert region.vertex([1, 1, 1]).tolist() == [0.5, 0.5, 0]
    assert region.vertex([-math.inf, 0, math.inf]).tolist() == [0, 0.5, 0.5]
    assert region.vertex([math.inf, math.inf, math.inf]).tolist() == [0.5, 0.5, 0]
    with pytest.raises(ValueError, match="NaN"):
        region.vertex([0, math.nan, 0])


def test_too_many_vertices_are_refused_at_once():
    names = [f"s{i}" for i in range(300)]
    with pytest.raises(AndreaError, match="more than 500 vertices"):
        Region.of(names, caps=dict.fromkeys(names, 0.01)).vertices(500)
