"""Projection: certificates, exact rational references, metamorphic laws, golden values."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy.optimize import minimize

from andrea_core.simplex import Region, l2
from andrea_core.testing.certificates import assert_kl_nearest, assert_member, assert_nearest
from andrea_core.testing.geometry import positive_vectors, regions, vectors, weights


def rational_projection(v, lower, upper, *, multiplicative):
    """Solve the scalar dual in exact rationals: find the linear piece that holds the root, then the root."""
    v, lo, hi = ([Fraction(float(x)) for x in xs] for xs in (v, lower, upper))

    def at(t):
        return [min(max(x * t if multiplicative else x - t, a), b) for x, a, b in zip(v, lo, hi, strict=True)]

    if multiplicative:
        knots = sorted({b / x for x, pair in zip(v, zip(lo, hi, strict=True), strict=True) for b in pair})
    else:
        knots = sorted({x - b for x, pair in zip(v, zip(lo, hi, strict=True), strict=True) for b in pair})
    sums = [sum(at(t)) for t in knots]
    for (t0, s0), (t1, s1) in zip(zip(knots, sums, strict=True), zip(knots[1:], sums[1:], strict=True), strict=False):
        if min(s0, s1) <= 1 <= max(s0, s1):
            return at(t0 if s0 == s1 else t0 + (t1 - t0) * (1 - s0) / (s1 - s0))
    return at(knots[min(range(len(knots)), key=lambda j: abs(sums[j] - 1))])


@st.composite
def region_and(draw, family, **sizes):
    region = draw(regions(**sizes))
    return region, draw(family(region))


def huge_vectors(region):
    return vectors(region, 1e300)


@settings(max_examples=300)
@given(region_and(vectors))
def test_euclidean_projection_is_a_member_and_certified_nearest(case):
    region, v = case
    w = region.project(v)
    assert_member(region, w)
    assert_nearest(region, v, w)


@settings(max_examples=150)
@given(region_and(huge_vectors, max_sources=6))
def test_euclidean_projection_equals_exact_rationals_within_1e_15_even_for_huge_entries(case):
    region, v = case
    exact = rational_projection(v, region.lower, region.upper, multiplicative=False)
    assert max(abs(Fraction(float(x)) - y) for x, y in zip(region.project(v), exact, strict=True)) < 1e-15
    assert max(abs(Fraction(float(x)) - y) for x, y in zip(region.project(v[None])[0], exact, strict=True)) < 1e-15


@settings(max_examples=200)
@given(region_and(positive_vectors))
def test_kl_projection_is_a_member_and_one_factor_clipped(case):
    region, p = case
    w = region.project(p, divergence="kl")
    assert_member(region, w)
    if (p > 0).all():
        assert_kl_nearest(region, p, w)


@settings(max_examples=100)
@given(region_and(positive_vectors, max_sources=6))
def test_kl_projection_equals_exact_rationals_within_1e_15(case):
    region, p = case
    assume((p > 0).all())
    exact = rational_projection(p, region.lower, region.upper, multiplicative=True)
    for w in (region.project(p, "kl"), region.project(p[None], "kl")[0]):
        assert max(abs(Fraction(float(x)) - y) for x, y in zip(w, exact, strict=True)) < 1e-15


@given(region_and(positive_vectors), st.sampled_from((1e-6, 1 / 3, 1e6)))
def test_kl_projection_ignores_the_scale_of_its_argument(case, scale):
    region, p = case
    np.testing.assert_allclose(region.project(p, "kl"), region.project(p * scale, "kl"), rtol=0, atol=4e-15)


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        ([0.5, 0.5, 0.0], [0.5, 0.5, 0.0]),
        ([1.0, 0.0, 0.0], [0.6, 0.2, 0.2]),
        ([0.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]),
    ],
)
def test_kl_projection_leaves_zeros_at_their_floor_unless_the_others_cannot_carry_the_mass(p, expected):
    region = Region.of("abc", caps=dict.fromkeys("abc", 0.6))
    np.testing.assert_allclose(region.project(p, "kl"), expected, atol=1e-15)
    np.testing.assert_allclose(region.project([p, p], "kl"), [expected] * 2, atol=1e-15)


@given(st.data())
def test_projection_returns_legal_weights_bit_for_bit(data):
    region = data.draw(regions())
    w = data.draw(weights(region))
    for divergence in ("euclidean", "kl"):
        assert region.project(w, divergence).tobytes() == w.tobytes()
        assert region.project(np.tile(w, (20, 1)), divergence)[7].tobytes() == w.tobytes()


@given(region_and(vectors), st.randoms(use_true_random=False))
def test_projection_commutes_with_permutations_and_ignores_shifts(case, random):
    region, v = case
    order = list(range(len(v)))
    random.shuffle(order)
    turned = Region.of(
        [region.names[i] for i in order],
        {name: region.stated.lower[i] for i, name in enumerate(region.names)},
        {name: region.stated.upper[i] for i, name in enumerate(region.names)},
    )
    slack = 1e-15 * (len(v) + np.abs(v).max())
    np.testing.assert_allclose(turned.project(v[order]), region.project(v)[order], rtol=0, atol=slack)
    np.testing.assert_allclose(region.project(v + 0.375), region.project(v), rtol=0, atol=slack)


@given(region_and(vectors), st.data())
def test_projection_is_not_expansive(case, data):
    region, v = case
    other = data.draw(vectors(region))
    moved = l2(region.project(v), region.project(other))
    assert moved <= l2(v, other) + 1e-14


@given(region_and(vectors, min_sources=2, max_sources=8), st.data())
def test_raising_one_cap_lifts_that_source_only(case, data):
    region, v = case
    i = data.draw(st.integers(0, len(v) - 1))
    top = data.draw(st.floats(float(region.stated.upper[i]), 1.0))
    floors = dict(zip(region.names, region.stated.lower, strict=True))
    caps = dict(zip(region.names, region.stated.upper, strict=True)) | {region.names[i]: top}
    wider = Region.of(region.names, floors, caps)
    before, after = region.project(v), wider.project(v)
    slack = 1e-14 * (1 + np.abs(v).max())
    assert after[i] >= before[i] - slack
    assert (np.delete(after, i) <= np.delete(before, i) + slack).all()
    assert l2(after, v) <= l2(before, v) + slack


@given(st.data())
def test_rows_are_projected_like_single_vectors(data):
    region = data.draw(regions())
    rows = np.array([data.draw(vectors(region)) for _ in range(2)] * 10)
    batch = region.project(rows)
    for row, w in zip(rows, batch, strict=True):
        assert_member(region, w)
        np.testing.assert_allclose(w, region.project(row), rtol=0, atol=1e-15)


@pytest.mark.parametrize("seed", range(12))
def test_projection_agrees_with_a_general_quadratic_program(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    witness = rng.dirichlet(np.ones(n))
    lower, upper = witness * rng.random(n), witness + (1 - witness) * rng.random(n) * 0.5
    names = [f"s{i}" for i in range(n)]
    region = Region.of(names, dict(zip(names, lower, strict=True)), dict(zip(names, upper, strict=True)))
    v = rng.normal(size=n)
    found = minimize(
        lambda w: 0.5 * np.sum((w - v) ** 2),
        witness,
        jac=lambda w: w - v,
        bounds=list(zip(lower, upper, strict=True)),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(region.project(v), found.x, atol=1e-6)


def test_projection_of_the_documented_example_has_the_known_value():
    region = Region.of("abcd", dict.fromkeys("abcd", 0.1), dict.fromkeys("abcd", 0.5))
    w = region.project([0.7, 0.2, 0.06, 0.04])
    np.testing.assert_allclose(w, [0.5, 0.8 / 3, 0.38 / 3, 0.32 / 3], atol=1e-15)
    assert w[0] == 0.5


@settings(max_examples=200)
@given(region_and(vectors))
def test_plain_numbers_arrays_and_the_search_over_breakpoints_find_the_same_point(case):
    region, v = case
    out = [f"out-{i}" for i in range(40)]
    bounds = [dict(zip(region.names, side, strict=True)) for side in (region.stated.lower, region.stated.upper)]
    many = Region.of([*region.names, *out], *bounds, out)
    by_numbers, by_arrays = region.project(v), many.project([*v, *np.zeros(40)])[: len(v)]
    by_search = region.project(np.tile(v, (20, 1)))[0]
    np.testing.assert_allclose(by_arrays, by_numbers, rtol=0, atol=1e-15)
    np.testing.assert_allclose(by_search, by_numbers, rtol=0, atol=1e-15)


def test_flat_dual_gives_the_corner_that_bounds_allow():
    region = Region.of("abc", floors={"b": 0.25, "c": 0.25}, caps={"a": 0.5})
    assert region.project([100.0, -100.0, -100.0]).tolist() == [0.5, 0.25, 0.25]
    assert region.project([[100.0, -100.0, -100.0]] * 20).tolist() == [[0.5, 0.25, 0.25]] * 20


@pytest.mark.parametrize("scale", [1e15, 1e17, 1e300])
def test_entries_far_apart_or_huge_and_equal_share_as_their_order_says(scale):
    half = Region.of("abc", caps=dict.fromkeys("abc", 0.5))
    cases = [
        (Region.of("abc"), [0.0, scale, scale], [0.0, 0.5, 0.5]),
        (Region.of("abc"), [0.25, scale, 0.5], [0.0, 1.0, 0.0]),
        (half, [scale, 0.25, 0.0], [0.5, 0.375, 0.125]),
        (half, [-scale, 0.0, -scale], [0.25, 0.5, 0.25]),
        (half, [scale, scale / 1e3, 0.0], [0.5, 0.5, 0.0]),
    ]
    for region, v, expected in cases:
        assert region.project(v).tolist() == expected
        assert region.project([v] * 20).tolist() == [expected] * 20


def test_shifted_copies_of_a_thousand_sources_keep_the_contract():
    rng = np.random.default_rng(3)
    names = [f"s{i}" for i in range(1000)]
    region = Region.of(names, {"s0": 0.1}, dict.fromkeys(names[1:], 0.004), names[500:510])
    rows = rng.normal(size=(40, 1000)) * 0.01 + rng.choice([0.0, 5.0, 1e12], (40, 1))
    for row, w in zip(rows, region.project(rows), strict=True):
        assert_member(region, w)
        assert_nearest(region, row, w)
        assert math.fsum(region.project(row).tolist()) == 1.0


@pytest.mark.parametrize(
    ("v", "divergence", "message"),
    [
        ([0.1, math.nan], "euclidean", "finite"),
        ([0.1, math.inf], "kl", "finite"),
        ([0.1, -0.1], "kl", "negative"),
        ([0.1, 0.2, 0.3], "euclidean", "shape"),
        ([0.1, 0.2], "cosine", "divergence must be one of"),
    ],
)
def test_projection_refuses_what_has_no_nearest_point(v, divergence, message):
    with pytest.raises(ValueError, match=message):
        Region.of("ab").project(v, divergence)
