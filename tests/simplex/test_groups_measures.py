"""Volume and moments under group bounds: exact rationals, closed forms, quadrature within its error, draws."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from andrea_core.simplex import Group, Region
from andrea_core.simplex.groups import blocks, estimates, measures, splines, totals
from andrea_core.testing.certificates import assert_member
from andrea_core.testing.grouped import grouped_regions

NAMES = tuple(f"s{i}" for i in range(64))
SETS = {
    "one": Region.of("abcdefgh", {"b": 0.01}, {"d": 0.3, "g": 0.25}, groups=(Group(tuple("abc"), 0.55),)),
    "two": Region.of(
        "abcdefgh", {}, {"d": 0.3}, groups=(Group(tuple("ab"), 0.3, 0.35), Group(tuple("cdef"), 0.4, 0.6))
    ),
    "three": Region.of(
        "abcdefgh",
        {},
        {"g": 0.4},
        groups=(Group(("a", "b"), 0.3, 0.4), Group(("c", "d"), 0.1), Group(("e",), 0.1, 0.2)),
    ),
    "fixed": Region.of("abcdef", groups=(Group(("a", "b", "c"), 0.7, 0.7),)),
}


def by_quadrature(region):
    found, mass = blocks.blocks_of(region.groups)
    value, error = totals.volume(found, mass)
    return value + math.lgamma(sum(len(block.u) for block in found)), error


def test_two_pairs_have_the_closed_form():
    """Where a + b >= 0.7 on the simplex of four, the sum has the density 6 t (1 - t)."""
    found = Region.of("abcd", groups=(Group(("a", "b"), at_least=0.7),)).log_volume_fraction()
    assert found.method == "exact"
    assert math.exp(found.value) == pytest.approx(1 - (3 * 0.49 - 2 * 0.343), rel=1e-14)


def test_a_large_group_has_the_incomplete_beta_share():
    region = Region.of(NAMES, groups=(Group(NAMES[:8], at_least=0.6),))
    found = region.log_volume_fraction()
    assert (found.method, found.approximate) == ("quadrature", False)
    # The sum of 8 of 64 is a Beta(8, 56): its upper tail is a binomial sum, exact in whole numbers.
    six = (0.6).as_integer_ratio()
    tail = sum(math.comb(63, k) * six[0] ** k * (six[1] - six[0]) ** (63 - k) for k in range(8))
    assert abs(found.value - (math.log(tail) - 63 * math.log(six[1]))) <= found.error < 1e-11


@settings(max_examples=40)
@given(grouped_regions(max_sources=9))
def test_quadrature_agrees_with_exact_rationals_within_its_error(region):
    exact = measures._exactly(region.groups) if region.groups.loose else None
    assume(exact is not None and exact[0] > 0)
    assume(len(blocks.blocks_of(region.groups)[0]) <= measures.MOST)
    value, error = by_quadrature(region)
    assert abs(value - math.log(exact[0] / exact[1])) <= error + 1e-13


def test_splines_count_the_volume_of_every_split():
    """Two coordinates in [0, 3] and one in [0, 4], total 5, the pair's total in [2, 4]: by a sum over fine slabs."""
    top, bottom = splines.volume([splines.Windowed((3, 3), 2, 4), splines.Windowed((4,), 0, 4)], 5)
    middles = 2 + (np.arange(200_000) + 0.5) * 1e-5
    slabs = np.minimum(middles, 3) - np.maximum(middles - 3, 0)
    assert top / bottom / math.factorial(2) == pytest.approx(float(slabs.sum()) * 1e-5, rel=1e-8)


@settings(max_examples=20)
@given(grouped_regions(min_sources=3, max_sources=8), st.data())
def test_a_cut_of_a_group_splits_the_fraction_in_two(region, data):
    assume(not region.is_point)
    part = data.draw(st.sampled_from(region.groups.parts))
    assume(part.high - part.low > 1e-3 and math.isfinite(part.at_least))
    cut = part.low + data.draw(st.floats(0.1, 0.9)) * (part.high - part.low)
    sources = tuple(region.names[i] for i in part.members)
    halves = [region.restrict(groups=(group,)) for group in (Group(sources, 0, cut), Group(sources, cut, 1))]
    assume(all(half.dimension == region.dimension for half in halves))
    whole = region.log_volume_fraction().value
    shares = [math.exp(half.log_volume_fraction().value - whole) for half in halves]
    assert math.fsum(shares) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_draws_have_the_mean_and_the_covariance(name):
    region = SETS[name]
    mean, covariance = region.mean_estimate(), region.covariance_estimate()
    assert not mean.approximate
    assert not covariance.approximate
    assert_member(region, mean.value)
    assert np.abs(covariance.value.sum(axis=1)).max() < 1e-13
    draws = region.sample(np.random.default_rng(8), 8000)
    sigma = np.sqrt(np.diag(covariance.value))
    assert np.abs((draws.mean(axis=0) - mean.value) / sigma).max() * math.sqrt(len(draws)) < 5
    made = estimates.covariance(draws)
    assert np.abs((made.value - covariance.value) / made.error).max() < 5


def test_a_group_that_cannot_bind_changes_neither_volume_nor_moments():
    plain = Region.of("abcdef", {"a": 0.1}, {"c": 0.4})
    grouped = plain.restrict(groups=(Group(("a", "b"), 0.0, 1.0),))
    assert grouped.log_volume_fraction().value == pytest.approx(plain.log_volume_fraction().value, abs=1e-14)
    np.testing.assert_allclose(grouped.mean(), plain.mean(), atol=1e-15)
    np.testing.assert_allclose(grouped.covariance(), plain.covariance(), atol=1e-15)


def test_each_fixed_total_has_a_simplex_of_its_own():
    found = Region.of("abcdef", groups=(Group(("a", "b", "c"), 0.7, 0.7),)).log_volume_fraction()
    assert (found.method, found.dimension) == ("exact", 4)
    assert found.value == pytest.approx(2 * math.log(0.7) + 2 * math.log(0.3), abs=1e-14)


def test_many_groups_are_estimated_from_draws_and_say_so():
    groups = tuple(Group(NAMES[3 * k : 3 * k + 3], 0.1, 0.2) for k in range(6))
    region = Region.of(NAMES[:20], groups=groups)
    found = region.log_volume_fraction()
    assert found.approximate
    assert 0.0 < found.error < 0.1
    mean = region.mean_estimate()
    assert mean.approximate
    assert_member(region, mean.value)
    assert 0.0 < mean.error.max() < 0.01


def test_the_estimate_from_draws_holds_the_exact_volume():
    region = SETS["two"]
    log, error = estimates.log_volume(region.sampler.plan, np.random.default_rng(5))
    assert abs(log + math.lgamma(8) - region.log_volume_fraction().value) < 5 * error
