"""The halving chain: its densities against exact values, its draws against plain tilted rejection."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from andrea_core.simplex import Region, chain, sampling, tilt
from andrea_core.testing.certificates import assert_member


def irwin_hall(n, x):
    """Return the exact density at x of the sum of n standard uniforms."""
    x = Fraction(x)
    total = sum((-1) ** k * math.comb(n, k) * (x - k) ** (n - 1) for k in range(math.floor(x) + 1))
    return total / math.factorial(n - 1)


def test_the_density_of_a_sum_of_uniforms_equals_the_exact_one():
    n = 24
    found = chain.density(np.ones(n), 1e-12)
    points = np.array([3.3, 6.0, 9.7, 11.2, 12.0, 12.9, 17.1, 20.0])
    exact = np.array([float(irwin_hall(n, x) / irwin_hall(n, 12)) for x in points])
    np.testing.assert_allclose(found.at(points), exact, atol=2e-7)
    assert (found.at(np.array([-1.0, 24.5, 100.0])) == 0).all()


@pytest.mark.parametrize("theta", [0.3, 2.0, 30.0])
def test_the_density_of_a_tilted_sum_is_the_tilted_density(theta):
    n = 24
    found = chain.density(np.ones(n), theta)
    centre = float(np.sum(tilt.mean_factor(np.full(n, theta))))
    points = centre + np.linspace(-0.6, 0.6, 7) * centre
    exact = np.array([float(irwin_hall(n, x)) * math.exp(-theta * (x - centre)) for x in points])
    share = found.at(points) / exact
    np.testing.assert_allclose(share, share[3], rtol=1e-5)


def wide(n, seed):
    rng = np.random.default_rng(seed)
    names = [f"s{i}" for i in range(n)]
    caps = rng.lognormal(0, 0.25, n)
    return Region.of(names, caps=dict(zip(names, np.minimum(1, caps * 2.6 / caps.sum()), strict=True)))


def chain_and_plain(seed=1, count=4000):
    sampler = wide(160, seed).sampler
    links = chain.forge(sampler.u, sampler.theta)
    one = chain.draw(links, sampler.u, sampler.theta, sampler.mass, np.random.default_rng(2), count)
    rng, rows = np.random.default_rng(3), []
    while sum(map(len, rows)) < count:
        x, accepted = tilt.attempt(sampler.u, sampler.theta, np.full(20_000, sampler.mass), rng)
        rows.append(x[accepted])
    return one, np.concatenate(rows)[:count], links


def agreement(one, two, links):
    """Return the largest z of the means and the smallest p of two-sample tests on partial sums of points."""
    z = (one.mean(axis=0) - two.mean(axis=0)) / np.sqrt((one.var(axis=0) + two.var(axis=0)) / len(one))
    cuts = [10, 150, *(link.until for link in links)]
    sums = [stats.ks_2samp(one[:, :k].sum(axis=1), two[:, :k].sum(axis=1)).pvalue for k in cuts]
    return float(np.abs(z).max()), min(sums)


def test_chain_draws_agree_with_plain_rejection():
    one, two, links = chain_and_plain()
    assert len(links) >= 2
    z, p = agreement(one, two, links)
    assert z < 4.5
    assert p > 0.001


def test_a_wrong_density_in_the_chain_is_caught(monkeypatch):
    sound = chain.Density.at
    monkeypatch.setattr(chain.Density, "at", lambda self, s: sound(self, 1.05 * s))
    one, two, links = chain_and_plain()
    assert agreement(one, two, links)[1] < 1e-6


def test_bulk_draws_of_many_sources_use_the_chain_and_are_members(monkeypatch):
    region = wide(160, 4)
    monkeypatch.setattr(sampling, "BULK", 100)
    called = []
    sound = chain.draw
    monkeypatch.setattr(chain, "draw", lambda *args: called.append(1) or sound(*args))
    for w in region.sample(np.random.default_rng(5), 60):
        assert_member(region, w)
    assert called


def test_a_few_wide_and_many_narrow_widths_fall_back_on_plain_rejection():
    assert chain.forge(np.concatenate([np.full(60, 1e-7), np.ones(3)]), 1.0) is None
