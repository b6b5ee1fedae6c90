"""Planted bugs in the sampler: each must be caught by the test of uniformity."""

import math

import attrs
import numpy as np
import pytest
from scipy import stats

from andrea_core.simplex import Region, sampling
from andrea_core.testing.certificates import assert_member


def uniform():
    floors, caps = {"a": 0.1, "b": 0.05}, {"a": 0.35, "b": 0.5, "c": 0.6}
    for method in ("dirichlet", "tilted"):
        region = Region.of("abc", floors, caps)
        sampler = attrs.evolve(sampling.prepare(region.box), method=method)
        draws = sampler.draw(np.random.default_rng(11), 30_000)
        for w in draws[:200]:
            assert_member(region, w)
        low = np.maximum(region.lower[1], 1 - draws[:, 0] - region.upper[2])
        high = np.minimum(region.upper[1], 1 - draws[:, 0] - region.lower[2])
        counts = np.histogram((draws[:, 1] - low) / (high - low), bins=20, range=(0, 1))[0]
        assert stats.chisquare(counts).pvalue > 0.001
        assert abs(draws[:, 0].mean() - exact_first_mean(region)) < 5 * draws[:, 0].std() / math.sqrt(len(draws))


def exact_first_mean(region):
    grid = np.linspace(region.lower[0], region.upper[0], 20_001)
    low = np.maximum(region.lower[1], 1 - grid - region.upper[2])
    high = np.minimum(region.upper[1], 1 - grid - region.lower[2])
    return float((grid * (high - low)).sum() / (high - low).sum())


def test_the_sound_sampler_passes():
    uniform()


def unthinned(sampler, rng, count):
    x, _ = SOUND_TILTED(attrs.evolve(sampler), rng, count)
    return x, (x[:, -1] >= 0) & (x[:, -1] <= sampler.u[-1])


def unrejected(sampler, rng, count):
    x, _ = SOUND_DIRICHLET(sampler, rng, count)
    return x, np.ones(count, dtype=bool)


SOUND_TILTED, SOUND_DIRICHLET = sampling._tilted, sampling._dirichlet


def unmirrored(box):
    return attrs.evolve(SOUND_PREPARE(box), mirrored=not SOUND_PREPARE(box).mirrored)


SOUND_PREPARE = sampling.prepare


MUTANTS = {
    "tilted draws not thinned": ("_tilted", unthinned),
    "Dirichlet draws not rejected": ("_dirichlet", unrejected),
    "mirror forgotten": ("prepare", unmirrored),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_caught(name, monkeypatch):
    monkeypatch.setattr(sampling, *MUTANTS[name])
    with pytest.raises(AssertionError):
        uniform()
