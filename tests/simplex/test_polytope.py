"""Regions with rows: bounds bitwise, rows within their slack, optimality, faces, clashes, draws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize
from scipy.stats import kstest

from andrea_core.errors import AndreaError, InfeasibleRegion, ScenarioError
from andrea_core.simplex import Group, Region, Row
from andrea_core.simplex.polytope.region import ROW_SLACK
from andrea_core.testing.certificates import assert_member
from andrea_core.testing.grouped import regions_with_rows

SOME = settings(max_examples=25)


def normals(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def assert_legal(region, w):
    assert_member(region, w)
    for row in region.stated.rows:
        value = math.fsum(c * w[i] for i, c in zip(row.members, row.coefficients, strict=True))
        assert row.at_least - 1.1 * ROW_SLACK <= value <= row.at_most + 1.1 * ROW_SLACK


@SOME
@given(regions_with_rows(), st.integers(0, 99))
def test_every_method_returns_legal_weights(region, seed):
    v = normals(seed, len(region.names))
    assert_legal(region, region.centre)
    assert_legal(region, region.project(100 * v))
    assert_legal(region, region.project(np.exp(3 * v), divergence="kl"))
    assert_legal(region, region.vertex(v))
    for w in region.sample(np.random.default_rng(seed), 2):
        assert_legal(region, w)


@SOME
@given(regions_with_rows(), st.integers(0, 99), st.sampled_from((1.0, 1e3)))
def test_projection_meets_the_variational_inequality(region, seed, size):
    v = size * normals(seed, len(region.names))
    w = region.project(v)
    pull = v - w - np.median(v - w)
    gap = float(pull @ (region.vertex(pull) - w))
    assert gap <= 2e-8 * (1 + np.abs(pull).max())


@SOME
@given(regions_with_rows(), st.integers(0, 99))
def test_kl_projection_meets_the_variational_inequality(region, seed):
    p = np.exp(3 * normals(seed, len(region.names)))
    w = region.project(p, divergence="kl")
    held = w > 0
    pull = np.where(held, np.log(p) - np.log(np.where(held, w, 1.0)), 0.0)
    if held.all():
        pull -= np.median(pull)
        assert float(pull @ (region.vertex(pull) - w)) <= 2e-8 * (1 + np.abs(pull).max()) + 1e-15 / w.min()


@SOME
@given(regions_with_rows(), st.integers(0, 99))
def test_legal_weights_come_back_bit_for_bit(region, seed):
    w = region.project(normals(seed, len(region.names)))
    assert region.project(w).tobytes() == w.tobytes()
    assert region.settle(w).tobytes() == w.tobytes()


@SOME
@given(regions_with_rows(max_sources=6), st.integers(0, 99))
def test_vertices_span_the_region_and_hold_the_best_of_every_score(region, seed):
    found = region.vertices()
    for w in found:
        assert_legal(region, w)
    spread = np.linalg.matrix_rank(found - found[0], tol=1e-7) if len(found) > 1 else 0
    assert spread == region.dimension
    values = normals(seed, len(region.names))
    assert float((found @ values).max()) == pytest.approx(float(values @ region.vertex(values)), abs=1e-7)
    assert region.face_dimension(region.vertex(values)) == 0


def test_projection_agrees_with_a_general_solver():
    region = Region.of(
        "abcde", {"a": 0.05}, {"c": 0.3}, rows=(Row({"a": 1, "b": -2}, at_most=0), Row({"d": 1, "e": 1}, 0.2))
    )
    limits = [lambda w: 2 * w[1] - w[0], lambda w: w[3] + w[4] - 0.2]
    for v in normals(1, 8, 5):
        found = minimize(
            lambda w, v=v: ((w - v) ** 2).sum(),
            region.centre,
            jac=lambda w, v=v: 2 * (w - v),
            method="SLSQP",
            bounds=list(zip(region.stated.lower, region.stated.upper, strict=True)),
            constraints=[{"type": "eq", "fun": lambda w: w.sum() - 1}, *({"type": "ineq", "fun": f} for f in limits)],
            options={"ftol": 1e-15, "maxiter": 500},
        )
        np.testing.assert_allclose(region.project(v), found.x, atol=1e-6)


def test_rows_that_are_disjoint_groups_agree_with_the_exact_region():
    group = Region.of("abcde", {"c": 0.1}, groups=(Group(("a", "b"), 0.3, 0.5),))
    rows = Region.of("abcde", {"c": 0.1}, rows=(Row({"a": 1, "b": 1}, 0.3, 0.5),))
    for v in normals(2, 20, 5):
        np.testing.assert_allclose(rows.project(v), group.project(v), atol=1e-9)
        np.testing.assert_allclose(rows.project(np.exp(v), "kl"), group.project(np.exp(v), "kl"), atol=1e-9)
        assert float(v @ rows.vertex(v)) == pytest.approx(float(v @ group.vertex(v)), abs=1e-9)
    assert rows.dimension == group.dimension
    assert rows.chebyshev().radius == pytest.approx(group.chebyshev().radius, abs=1e-7)


def test_a_row_that_leaves_a_source_nothing_excludes_it():
    region = Region.of("abc", rows=(Row({"a": 1, "b": 1}, at_most=0.0),))
    assert region.upper.tolist() == [0.0, 0.0, 1.0]
    assert region.project([1, 1, 1]).tolist() == [0.0, 0.0, 1.0]


def test_groups_may_overlap_beside_rows():
    region = Region.of(
        "abc", rows=(Row({"c": 1}, at_most=0.9),), groups=(Group("a", 0.1), Group(("a", "b"), at_most=0.5))
    )
    assert_legal(region, region.project([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(region.project([0.0, 5.0, 0.0]), [0.1, 0.4, 0.5], atol=1e-9)


def test_infinite_scores_rank_first_and_last():
    region = Region.of("abc", rows=(Row({"a": 1, "b": 1}, at_most=0.5),))
    np.testing.assert_allclose(region.vertex([np.inf, 5.0, 4.0]), [0.5, 0.0, 0.5], atol=1e-9)
    np.testing.assert_allclose(region.vertex([0.0, 5.0, -np.inf]), [0.0, 0.5, 0.5], atol=1e-9)


def test_the_clash_is_irreducible_and_its_amount_right():
    with pytest.raises(InfeasibleRegion) as caught:
        Region.of("abcd", {"c": 0.3, "d": 0.05}, {"a": 0.9}, rows=(Row({"a": 1, "b": 1}, at_least=0.8),))
    assert {(one.kind, one.source) for one in caught.value.clash} == {("floor", "c"), ("row floor", "a + b")}
    assert caught.value.repair == "relax the row a + b by 0.15 in total, 0.1 of it for this clash"
    mended = Region.of("abcd", {"c": 0.3, "d": 0.05}, {"a": 0.9}, rows=(Row({"a": 1, "b": 1}, at_least=0.65),))
    assert mended.dimension == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Row({}, at_most=1), "at least one coefficient"),
        (Row({"a": 1}), "bounds nothing"),
        (Row({"a": np.inf}, at_most=1), "finite"),
        (Row({"a": 1}, at_most=np.nan), "must be numbers"),
        (Row({"z": 1}, at_most=1), "unknown source 'z'"),
    ],
)
def test_rows_without_sense_are_refused(row, message):
    with pytest.raises(ScenarioError, match=message):
        Region.of("abc", rows=(row,))


def test_check_names_the_row():
    region = Region.of("abc", rows=(Row({"a": 1, "b": -2}, at_most=0),))
    assert region.check([0.5, 0.25, 0.25]) == []
    assert region.check([0.5, 0.0, 0.5]) == ["a - 2 b = 0.5 is above 0.0"]


def test_rejection_is_chosen_while_it_accepts_and_hit_and_run_otherwise():
    wide = Region.of("abc", rows=(Row({"a": 1, "b": -2}, at_most=0),))
    thin = Region.of("abcd", rows=(Row({"a": 1, "b": -1}, -1e-5, 1e-5),))
    flat = Region.of("abcd", rows=(Row({"a": 1, "b": -1}, 0, 0),))
    assert [region.sampler.method for region in (wide, thin, flat)] == ["rejection", "hit-and-run", "hit-and-run"]
    assert wide.sampler.acceptance == pytest.approx(2 / 3, abs=0.05)
    assert not wide.sampler.approximate
    assert thin.sampler.approximate


def test_hit_and_run_draws_have_the_law_of_the_slice_and_tell_what_they_are_worth():
    """With a = b on the simplex of four sources, (2 a, c, d) is uniform on a triangle."""
    flat = Region.of("abcd", rows=(Row({"a": 1, "b": -1}, 0, 0),))
    draws, effective = flat.sampler.report(np.random.default_rng(4), 1500)
    np.testing.assert_allclose(draws[:, 0], draws[:, 1], atol=1e-9)
    # On a triangle, each coordinate has the distribution function 1 - (1 - t)**2.
    assert kstest(2 * draws[:, 0], lambda t: 1 - (1 - t) ** 2).pvalue > 1e-3
    assert kstest(draws[:, 2], lambda t: 1 - (1 - t) ** 2).pvalue > 1e-3
    assert 300 < effective <= 1500


def test_vertices_are_refused_in_many_dimensions():
    names = tuple(f"s{i}" for i in range(12))
    region = Region.of(names, rows=(Row({"s0": 1, "s1": -2}, at_most=0),))
    with pytest.raises(AndreaError, match="up to 8 dimensions, this one has 11"):
        region.vertices()
