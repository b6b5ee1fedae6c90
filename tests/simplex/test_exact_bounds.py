"""Projection: what the exact one puts on a bound is on that bound, whichever way it is computed; hostile input."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from andrea_core.simplex import Region
from andrea_core.testing.certificates import assert_member, assert_nearest
from andrea_core.testing.geometry import positive_vectors, regions, vectors

OUT = [f"out-{i}" for i in range(40)]


def exact_projection(v, region, *, scales):
    """Fix what surely stands on a bound, one side at a time, in rationals (Bitran and Hax 1981)."""
    x, low, high = ([Fraction(float(a)) for a in values] for values in (v, region.lower, region.upper))
    free, rest, found = list(range(len(x))), Fraction(1), {}
    while free:
        mass = sum(x[i] for i in free)
        at = {i: x[i] * rest / mass if scales else x[i] - (mass - rest) / len(free) for i in free}
        below = {i for i in free if at[i] <= low[i]}
        above = {i for i in free if at[i] >= high[i]} - below
        short = sum(low[i] - at[i] for i in below) - sum(at[i] - high[i] for i in above)
        gone = {i: low[i] for i in below if short >= 0} | {i: high[i] for i in above if short <= 0}
        if not gone:
            found |= at
            break
        found |= gone
        rest -= sum(gone.values())
        free = [i for i in free if i not in gone]
    return [found[i] for i in range(len(x))]


def assert_like(exact, w, region):
    """Assert that w stands on each bound on which the exact projection stands, and is near to it elsewhere."""
    for x, y, low, high in zip(w.tolist(), exact, region.lower.tolist(), region.upper.tolist(), strict=True):
        assert y != low or x == low
        assert y != high or x == high
        assert abs(Fraction(x) - y) < 1e-15


def all_ways(region, v, divergence):
    """Return the projection of v as a single vector, alone in a batch, among few rows and among many."""
    yield region.project(v, divergence)
    for count in (1, 3, 20):
        yield region.project(np.tile(v, (count, 1)), divergence)[-1]


def among_many(region):
    """Return the region with forty more sources, excluded: arrays take the place of plain numbers."""
    bounds = (dict(zip(region.names, side, strict=True)) for side in (region.stated.lower, region.stated.upper))
    return Region.of([*region.names, *OUT], *bounds, OUT)


@settings(max_examples=300)
@given(st.data())
def test_what_the_exact_projection_puts_on_a_bound_is_on_that_bound_bit_for_bit(data):
    region = data.draw(regions())
    v = data.draw(vectors(region))
    assume(not region.is_point and not region.contains(v))
    exact = exact_projection(v, region, scales=False)
    many = among_many(region).project([*v, *np.zeros(40)])
    for w in (*all_ways(region, v, "euclidean"), many[: len(v)]):
        assert_member(region, w)
        assert_like(exact, w, region)


@settings(max_examples=200)
@given(st.data())
def test_what_the_exact_kl_projection_puts_on_a_bound_is_on_that_bound_bit_for_bit(data):
    region = data.draw(regions())
    p = data.draw(positive_vectors(region))
    assume((p > 0).all() and not region.is_point and not region.contains(p))
    exact = exact_projection(p, region, scales=True)
    for w in all_ways(region, p, "kl"):
        assert_member(region, w)
        assert_like(exact, w, region)


@pytest.mark.parametrize("divergence", ["euclidean", "kl"])
@pytest.mark.parametrize("n", [3, 16, 40])
def test_faces_of_projections_have_the_dimension_of_the_exact_ones(n, divergence):
    rng = np.random.default_rng(n)
    names = [f"s{i}" for i in range(n)]
    for _ in range(20):
        witness = rng.dirichlet(np.ones(n))
        lower, upper = witness * rng.random(n), np.minimum(1.0, witness * (1.0 + rng.random(n)))
        region = Region.of(names, dict(zip(names, lower, strict=True)), dict(zip(names, upper, strict=True)))
        rows = np.maximum(region.sample(rng, 20) + rng.normal(size=(20, n)) / n, 1e-9)
        for v, w in zip(rows, region.project(rows, divergence), strict=True):
            exact = exact_projection(v, region, scales=divergence == "kl")
            bounds = zip(exact, region.lower.tolist(), region.upper.tolist(), strict=True)
            inside = sum(low < y < high for y, low, high in bounds)
            for found in (w, region.project(v, divergence)):
                assert_like(exact, found, region)
                assert region.face_dimension(found) == max(inside - 1, 0)


@pytest.mark.parametrize("n", [2, 16, 36, 37, 64, 1000])
def test_moderate_vectors_shifted_scaled_or_flat_are_projected_right_at_every_size(n):
    rng = np.random.default_rng(n)
    names = [f"s{i}" for i in range(n)]
    region = Region.of(names, {"s0": 0.1}, dict.fromkeys(names[1:], 0.95), names[2 : 2 + n // 8])
    for scale, shift in ((1e-3, 0.0), (0.1, 0.0), (1.0, 0.3), (10.0, -7.0), (1e3, 2e3), (0.0, 0.0), (1e-9, 1.0)):
        v = scale * rng.normal(size=n) / n + shift
        w = region.project(v)
        assert_member(region, w)
        assert_nearest(region, v, w)


@pytest.mark.parametrize("size", [3, 16, 50])
@pytest.mark.parametrize("divergence", ["euclidean", "kl"])
@pytest.mark.parametrize(
    "bad",
    [[math.nan], [math.inf], [-math.inf], [math.inf, -math.inf], [math.inf, math.nan], [1e308, math.inf]],
)
def test_nan_and_infinity_are_refused_with_one_message_wherever_they_stand(size, divergence, bad):
    names = [f"s{i}" for i in range(size)]
    region = Region.of(names, exclude=names[:1])
    for start in (0, 1, size - len(bad)):
        v = np.full(size, 1.0 / size)
        v[start : start + len(bad)] = bad
        for given_ in (v, np.tile(v, (20, 1))):
            with pytest.raises(ValueError, match="finite"):
                region.project(given_, divergence)


@pytest.mark.parametrize("size", [3, 16, 50])
@pytest.mark.parametrize("odd", [1e308, -1e308, 1.7e308, 5e-324, -5e-324, -0.0, 1e200])
def test_huge_and_subnormal_entries_keep_the_contract_and_warn_of_nothing(size, odd):
    names = [f"s{i}" for i in range(size)]
    region = Region.of(names, {"s1": 0.125}, {"s2": 0.25}, names[:1])
    for places in ([0], [1], [0, 2], [1, 2], range(size)):
        for other in (0.0, 0.5, -odd):
            v = np.full(size, other)
            v[list(places)] = odd
            w = region.project(v)
            assert_member(region, w)
            assert_nearest(region, np.clip(v, -1e150, 1e150), w)


@pytest.mark.parametrize("size", [3, 50])
def test_results_are_the_callers_own_and_arguments_are_left_alone(size):
    names = [f"s{i}" for i in range(size)]
    region = Region.of(names, caps=dict.fromkeys(names, 0.6))
    for v in (np.linspace(0, 1, size), region.centre.copy(), np.full(size, 1.0 / size)):
        v.setflags(write=False)
        before = v.tobytes()
        w = region.project(v)
        assert w.flags.writeable
        assert not np.shares_memory(w, v)
        w[0] = 7.0
        assert v.tobytes() == before
    assert region.project(region.centre).tobytes() == region.centre.tobytes()
