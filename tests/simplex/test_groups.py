"""Regions with disjoint group bounds: membership, optimality, faces and centres, against linear programs."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy.optimize import linprog, minimize

from andrea_core.errors import ScenarioError
from andrea_core.simplex import Group, Region
from andrea_core.testing.certificates import assert_member, assert_nearest
from andrea_core.testing.geometry import positive_vectors, scores, vectors
from andrea_core.testing.grouped import grouped_regions


def assert_legal(region, w):
    """The contract of a region, and each stated group on its exactly rounded sum, to one unit in the last place."""
    assert_member(region, w)
    for group in region.stated.groups:
        total = math.fsum(w[list(group.members)].tolist())
        rounding = 1e-15 if region.is_point else 0.0
        assert total >= group.at_least - math.ulp(group.at_least) - rounding
        assert total <= group.at_most + math.ulp(group.at_most) + rounding


def as_rows(region):
    rows = np.zeros((len(region.stated.groups), len(region.names)))
    for row, group in zip(rows, region.stated.groups, strict=True):
        row[list(group.members)] = 1.0
    low = np.array([group.at_least for group in region.stated.groups])
    high = np.array([group.at_most for group in region.stated.groups])
    return np.vstack([rows, -rows]), np.concatenate([high, -low])


def chat(**bounds):
    return Region.of("abcd", groups=(Group(("a", "b"), **bounds),))


@given(st.data(), grouped_regions())
def test_every_method_returns_legal_weights(data, region):
    assert_legal(region, region.centre)
    assert_legal(region, region.project(data.draw(vectors(region))))
    assert_legal(region, region.vertex(data.draw(scores(region))))
    assert_legal(region, region.chebyshev().centre)
    for w in region.sample(np.random.default_rng(data.draw(st.integers(0, 99))), 3):
        assert_legal(region, w)


@given(st.data(), grouped_regions())
def test_projection_meets_the_variational_inequality(data, region):
    v = data.draw(vectors(region))
    assert_nearest(region, v, region.project(v))


@given(st.data(), grouped_regions())
def test_kl_projection_meets_the_variational_inequality(data, region):
    p = data.draw(positive_vectors(region))
    assume((p > 0).all())
    w = region.project(p, divergence="kl")
    assert_legal(region, w)
    held = w > 0
    pull = np.where(held, np.log(p) - np.log(np.where(held, w, 1.0)), 0.0)
    # A weight of 0 that could grow has an infinite pull, so that only its own cap or group may hold it there.
    assert (held | (region.upper <= 1e-300)).all() or region.is_point
    movable = region.upper - region.lower > 1e-12
    if movable.any():
        pull = np.where(movable, pull - np.median(pull[movable]), 0.0)
        relative = 1.0 / w[movable].min()
        gap = math.fsum((pull * (region.vertex(pull) - w)).tolist())
        assert gap <= 4e-16 * len(w) * (1.0 + np.abs(pull).max() + relative)


@given(st.data(), grouped_regions())
def test_kl_takes_zeros(data, region):
    p = data.draw(positive_vectors(region))
    assume(p.any())
    assert_legal(region, region.project(p, divergence="kl"))


@given(st.data(), grouped_regions())
def test_projection_is_idempotent_bit_for_bit(data, region):
    w = region.project(data.draw(vectors(region)))
    assert region.project(w).tobytes() == w.tobytes()
    assert region.project(w, divergence="kl").tobytes() == w.tobytes()
    assert region.settle(w).tobytes() == w.tobytes()


@given(grouped_regions(), st.integers(0, 99))
def test_weights_off_by_rounding_are_settled_close_by(region, seed):
    w = region.centre + 1e-13 * np.random.default_rng(seed).standard_normal(len(region.names))
    settled = region.settle(w)
    assert_legal(region, settled)
    assert np.abs(settled - region.centre).max() <= 1e-11
    assert region.offence(settled) <= 1e-15


@given(st.data(), grouped_regions())
def test_rows_are_projected_as_single_vectors_are(data, region):
    rows = np.array([data.draw(vectors(region, largest=1.0)) for _ in range(4)])
    for row, w in zip(rows, region.project(rows), strict=True):
        assert_legal(region, w)
        np.testing.assert_allclose(w, region.project(row), atol=1e-14 * (1 + np.abs(row).max()))
    positive = np.abs(rows) + 1e-3
    for row, w in zip(positive, region.project(positive, divergence="kl"), strict=True):
        assert_legal(region, w)
        np.testing.assert_allclose(w, region.project(row, divergence="kl"), atol=1e-14)


@given(st.data(), grouped_regions())
def test_vertex_is_as_good_as_the_linear_programs(data, region):
    values = np.array(data.draw(st.lists(st.floats(-10, 10), min_size=len(region.names), max_size=len(region.names))))
    matrix, limits = as_rows(region)
    bounds = list(zip(region.stated.lower, region.stated.upper, strict=True))
    best = linprog(-values, matrix, limits + 1e-12, np.ones((1, len(values))), [1.0], bounds)
    assert best.status == 0
    assert float(values @ region.vertex(values)) == pytest.approx(-best.fun, abs=1e-6)
    for w in (region.centre, region.sample(np.random.default_rng(0))):
        assert float(values @ region.vertex(values)) >= float(values @ w) - 1e-13 * (1 + np.abs(values).max())


@settings(max_examples=30)
@given(st.data(), grouped_regions(max_sources=6))
def test_vertices_span_the_region_and_hold_the_best_of_every_score(data, region):
    found = region.vertices()
    for w in found:
        assert_legal(region, w)
        assert region.face_dimension(w) == 0
    spread = np.linalg.matrix_rank(found - found[0], tol=1e-12) if len(found) > 1 else 0
    assert spread == region.dimension
    values = np.random.default_rng(data.draw(st.integers(0, 99))).standard_normal(len(region.names))
    assert float((found @ values).max()) == pytest.approx(float(values @ region.vertex(values)), abs=1e-14)


@settings(max_examples=30)
@given(grouped_regions())
def test_chebyshev_ball_is_as_large_as_the_linear_programs(region):
    centre, radius = region.chebyshev()
    assume(region.dimension > 0)
    found = region.vertices(5000) if len(region.names) <= 6 else None
    assume(found is not None and radius > 1e-5)
    _, _, turned = np.linalg.svd(found - found.mean(axis=0))
    basis = turned[: region.dimension].T
    matrix, limits = as_rows(region)
    sides = np.vstack([matrix, -np.eye(len(centre)), np.eye(len(centre))])
    room = np.concatenate([limits, -region.stated.lower, region.stated.upper])
    speed = np.linalg.norm(sides @ basis, axis=1)
    slack = room - sides @ centre
    assert (slack >= radius * speed - 1e-12).all()
    best = linprog(
        np.append(np.zeros(len(centre)), -1.0),
        np.column_stack([sides, np.where(speed > 1e-9, speed, 0.0)]),
        room + 1e-13,
        np.append(np.ones(len(centre)), 0.0)[None],
        [1.0],
        [(0, 1)] * (len(centre) + 1),
    )
    assert radius == pytest.approx(-best.fun, abs=1e-6)


def test_projection_agrees_with_a_general_solver():
    region = Region.of(
        "abcdef", {"a": 0.05}, {"c": 0.3}, groups=(Group(("a", "b"), 0.5, 0.6), Group(("c", "d"), 0.0, 0.2))
    )
    matrix, limits = as_rows(region)
    rng = np.random.default_rng(5)
    for _ in range(10):
        v = rng.standard_normal(6)
        found = minimize(
            lambda w, v=v: ((w - v) ** 2).sum(),
            region.centre,
            jac=lambda w, v=v: 2 * (w - v),
            method="SLSQP",
            bounds=list(zip(region.stated.lower, region.stated.upper, strict=True)),
            constraints=[
                {"type": "eq", "fun": lambda w: w.sum() - 1},
                {"type": "ineq", "fun": lambda w: limits - matrix @ w},
            ],
            options={"ftol": 1e-15, "maxiter": 500},
        )
        np.testing.assert_allclose(region.project(v), found.x, atol=1e-6)


def test_a_group_that_cannot_bind_changes_nothing():
    plain = Region.of("abcd", {"a": 0.1}, {"c": 0.4})
    grouped = plain.restrict(groups=(Group(("a", "b"), 0.0, 1.0),))
    rng = np.random.default_rng(0)
    for v in rng.standard_normal((20, 4)):
        np.testing.assert_allclose(grouped.project(v), plain.project(v), atol=1e-15)
        assert grouped.vertex(v).tolist() == plain.vertex(v).tolist()
    assert grouped.dimension == plain.dimension
    assert grouped.chebyshev().radius == pytest.approx(plain.chebyshev().radius, abs=1e-15)


def test_a_group_of_one_source_is_a_floor_and_a_cap():
    group = Region.of("abc", groups=(Group(("a",), 0.2, 0.5),))
    plain = Region.of("abc", {"a": 0.2}, {"a": 0.5})
    assert group.lower.tolist() == plain.lower.tolist()
    assert group.upper.tolist() == plain.upper.tolist()
    for v in itertools.product((0.0, 1.0), repeat=3):
        np.testing.assert_allclose(group.project(v), plain.project(v), atol=1e-15)


def test_groups_tighten_the_bounds_of_their_sources():
    region = Region.of("abcd", groups=(Group(("a", "b"), at_most=0.3), Group(("c",), at_most=0.5)))
    assert region.upper.tolist() == [0.3, 0.3, 0.5, 1.0]
    assert region.lower.tolist() == [0.0, 0.0, 0.0, pytest.approx(0.2, abs=1e-15)]
    shut = chat(at_most=0.0)
    assert shut.upper.tolist()[:2] == [0.0, 0.0]
    assert not np.signbit(shut.project([1, 1, 1, 1])).any()


@pytest.mark.parametrize(
    ("groups", "dimension"),
    [
        ((Group("ab", 0.5, 0.8),), 3),
        ((Group("ab", 0.5, 0.5),), 2),
        ((Group("ab", 0.7, 0.7), Group("cd", 0.3, 0.3)), 2),
        ((Group("ab", 0.7), Group("cd", 0.3)), 2),
        ((Group("abcd", 1.0, 1.0),), 3),
        ((Group("a", 0.4, 0.4), Group("b", 0.3, 0.3), Group("c", 0.2, 0.2)), 0),
    ],
)
def test_dimension_counts_the_sums_that_are_fixed(groups, dimension):
    region = Region.of("abcd", groups=[Group(tuple("".join(one.sources)), one.at_least, one.at_most) for one in groups])
    assert region.dimension == dimension
    assert region.is_point == (dimension == 0)
    assert_legal(region, region.project([1.0, 0.0, 0.0, 0.0]))


def test_active_groups_and_face_dimension():
    region = chat(at_least=0.5, at_most=0.8)
    assert [side.tolist() for side in region.active_groups([0.5, 0.3, 0.1, 0.1])] == [[False], [True]]
    assert region.face_dimension([0.5, 0.3, 0.1, 0.1]) == 2
    assert region.face_dimension([0.3, 0.3, 0.2, 0.2]) == 3
    assert region.face_dimension([0.8, 0.0, 0.2, 0.0]) == 0


def test_check_names_the_group_and_its_reason():
    region = Region.of("abcd", groups=(Group(("a", "b"), at_least=0.5),), reason="mostly chat")
    assert region.check([0.1, 0.1, 0.4, 0.4]) == ["a + b = 0.2 is below the group floor 0.5 of a + b (mostly chat)"]
    assert region.check([0.25, 0.25, 0.25, 0.25]) == []


def test_restrict_keeps_groups_and_intersects_equal_ones():
    region = chat(at_least=0.2).restrict(floors={"c": 0.1}).restrict(groups=(Group(("b", "a"), 0.1, 0.6),))
    assert [(one.at_least, one.at_most) for one in region.stated.groups] == [(0.2, 0.6)]
    assert region.lower[2] == 0.1


def test_overlapping_groups_are_refused_toward_linear():
    with pytest.raises(ScenarioError, match=r"a \+ b and b \+ c share b; .*'linear'"):
        Region.of("abc", groups=(Group(("a", "b"), 0.1), Group(("b", "c"), 0.1)))
    with pytest.raises(ScenarioError, match="names a source twice"):
        Region.of("abc", groups=(Group(("a", "a"), 0.1),))
    with pytest.raises(ScenarioError, match="group bound of an unknown source 'd'"):
        Region.of("abc", groups=(Group(("a", "d"), 0.1),))
    with pytest.raises(ScenarioError, match="at least one source"):
        Region.of("abc", groups=(Group(()),))
    with pytest.raises(ScenarioError, match="between 0 and 1"):
        Region.of("abc", groups=(Group(("a", "b"), at_most=1.5),))


def test_a_unit_of_room_that_a_fixed_total_cannot_give_is_closed():
    """The floor of `e` is one unit below the cap of its group: no total in between could be shared."""
    floor = 0.5714285714285713
    region = Region.of(
        "abcdef", {"e": floor}, {"e": floor}, groups=(Group(("a", "b", "e"), at_most=0.5714285714285714),)
    )
    w = region.project(np.ones(6), divergence="kl")
    assert_legal(region, w)
    assert (w[region.upper > 0] > 0).all()
