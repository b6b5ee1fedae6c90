"""Uniform draws: members, chi-square over equal-area cells, known means, agreement of the two methods."""

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from andrea_core.simplex import Region, sampling
from andrea_core.simplex.sampling import prepare
from andrea_core.testing.certificates import assert_member
from andrea_core.testing.geometry import regions

TRIANGLES = {
    "whole": ({}, {}),
    "floors": ({"a": 0.1, "b": 0.2}, {}),
    "caps": ({}, {"a": 0.5, "b": 0.6, "c": 0.7}),
    "hexagon": ({"a": 0.1, "b": 0.15, "c": 0.05}, {"a": 0.55, "b": 0.6, "c": 0.5}),
    "nearly full": ({}, {"a": 0.35, "b": 0.36, "c": 0.34}),
    "sliver": ({"a": 0.3}, {"a": 0.31, "b": 0.65}),
}


def rosenblatt(region, draws):
    """Map uniform draws at n = 3 to the unit square: the exact distribution of a, then of b given a."""
    lo, hi = region.lower, region.upper
    grid = np.linspace(lo[0], hi[0], 40_001)

    def ends(a):
        return np.maximum(lo[1], 1 - a - hi[2]), np.minimum(hi[1], 1 - a - lo[2])

    bottom, top = ends(grid)
    length = np.maximum(top - bottom, 0)
    area = np.concatenate([[0], np.cumsum((length[1:] + length[:-1]) / 2)])
    first = np.interp(draws[:, 0], grid, area / area[-1])
    bottom, top = ends(draws[:, 0])
    return first, (draws[:, 1] - bottom) / (top - bottom)


def p_value(region, draws, cells=12):
    first, second = rosenblatt(region, draws)
    counts = np.histogram2d(first, second, bins=cells, range=[[0, 1], [0, 1]])[0]
    assert counts.sum() == len(draws)
    return stats.chisquare(counts.ravel()).pvalue


@pytest.mark.parametrize("method", ["dirichlet", "tilted"])
@pytest.mark.parametrize("shape", TRIANGLES)
def test_draws_at_three_sources_are_uniform_over_equal_area_cells(shape, method):
    region = Region.of("abc", *TRIANGLES[shape])
    sampler = attrs.evolve(prepare(region.box), method=method)
    draws = sampler.draw(np.random.default_rng(20), 40_000)
    assert p_value(region, draws) > 0.001


@pytest.mark.parametrize("shape", ["caps", "hexagon"])
def test_the_chi_square_test_rejects_projected_and_clipped_dirichlet_draws(shape):
    region = Region.of("abc", *TRIANGLES[shape])
    draws = np.random.default_rng(20).dirichlet(np.ones(3), 40_000)
    inside = region.project(draws)
    inside[:, 0] = np.clip(inside[:, 0], region.lower[0] + 1e-9, region.upper[0] - 1e-9)
    first, second = rosenblatt(region, inside)
    counts = np.histogram2d(first, np.clip(second, 0, 1), bins=12, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(counts.ravel()).pvalue < 1e-100


@given(regions(), st.integers(0, 2**32 - 1))
def test_draws_are_members(region, seed):
    for w in region.sample(np.random.default_rng(seed), 20):
        assert_member(region, w)
    single = region.sample(np.random.default_rng(seed))
    assert_member(region, single)


def test_two_sources_are_uniform_on_their_segment():
    region = Region.of("ab", floors={"a": 0.2}, caps={"a": 0.7})
    first = region.sample(np.random.default_rng(1), 20_000)[:, 0]
    assert stats.kstest(first, stats.uniform(0.2, 0.5).cdf).pvalue > 0.001


def test_floors_alone_give_the_exact_mean_and_covariance_of_a_shifted_dirichlet():
    n, floors = 16, np.linspace(0, 0.05, 16)
    names = [f"s{i}" for i in range(n)]
    region = Region.of(names, dict(zip(names, floors, strict=True)))
    assert region.sampler.method == "dirichlet"
    assert region.sampler.acceptance == 1.0
    mass = 1 - floors.sum()
    draws = region.sample(np.random.default_rng(2), 100_000)
    sigma = mass * np.sqrt((n - 1) / n**2 / (n + 1))
    z = (draws.mean(axis=0) - (floors + mass / n)) / (sigma / np.sqrt(len(draws)))
    assert np.abs(z).max() < 4.5
    np.testing.assert_allclose(np.diag(np.cov(draws.T)), sigma**2, rtol=0.03)


def uneven(n, seed, reach):
    rng = np.random.default_rng(seed)
    names = [f"s{i}" for i in range(n)]
    witness = rng.dirichlet(np.ones(n))
    upper = np.minimum(1, witness + rng.lognormal(0, 1, n) * reach / n)
    lower = witness * rng.random(n)
    return Region.of(names, dict(zip(names, lower, strict=True)), dict(zip(names, upper, strict=True)), ())


@pytest.mark.parametrize(("n", "reach"), [(5, 0.5), (8, 0.4), (12, 0.3)])
def test_the_two_methods_agree_in_every_mean_and_spread(n, reach):
    region = uneven(n, n, reach)
    base = prepare(region.box)
    assert base.mirrored == (region.box.below < region.box.above)
    one = attrs.evolve(base, method="dirichlet", acceptance=0.05).draw(np.random.default_rng(3), 30_000)
    two = attrs.evolve(base, method="tilted").draw(np.random.default_rng(4), 30_000)
    error = np.sqrt((one.var(axis=0) + two.var(axis=0)) / 30_000)
    assert (np.abs(one.mean(axis=0) - two.mean(axis=0)) / error).max() < 4.5
    smallest = min(stats.ks_2samp(one[:, i], two[:, i]).pvalue for i in range(n))
    assert smallest > 0.001 / n


def test_equal_caps_at_64_sources_have_equal_means():
    names = [f"s{i}" for i in range(64)]
    region = Region.of(names, caps=dict.fromkeys(names, 0.04))
    assert region.sampler.method == "tilted"
    draws = region.sample(np.random.default_rng(5), 20_000)
    z = (draws.mean(axis=0) - 1 / 64) / (draws.std(axis=0) / np.sqrt(len(draws)))
    assert np.abs(z).max() < 4.5
    assert abs(np.sum(z**2) / 64 - 1) < 0.8


@pytest.mark.parametrize(("n", "reach", "seed"), [(16, 3.0, 1), (16, 0.5, 2), (64, 0.5, 3), (64, 2.0, 4)])
def test_the_predicted_acceptance_is_what_is_seen(n, reach, seed):
    sampler = uneven(n, seed, reach).sampler
    attempt = sampling._dirichlet if sampler.method == "dirichlet" else sampling._tilted
    _, accepted = attempt(sampler, np.random.default_rng(6), 20_000)
    assert accepted.mean() == pytest.approx(sampler.acceptance, rel=0.25)


def test_implied_bounds_change_no_draw():
    loose = Region.of("abcd", floors={"a": 0.5, "b": 0.25})
    tight = Region.of("abcd", floors={"a": 0.5, "b": 0.25}, caps={"a": 0.75, "c": 0.25, "d": 0.25})
    one, two = (region.sample(np.random.default_rng(7), 50) for region in (loose, tight))
    assert one.tobytes() == two.tobytes()


def test_draws_depend_on_nothing_but_the_generator():
    region = uneven(16, 1, 0.5)
    one = region.sample(np.random.default_rng(8), 30)
    two = region.restrict().sample(np.random.default_rng(8), 30)
    assert one.tobytes() == two.tobytes()
    assert region.sample(np.random.default_rng(8)).shape == (16,)
    assert region.sample(np.random.default_rng(8), 0).shape == (0, 16)
