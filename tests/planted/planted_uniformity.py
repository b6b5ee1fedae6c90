"""The check that draws are uniform, and bugs to plant in the sampler."""

import math

import attrs
import numpy as np
from planted_checks import SEEN
from scipy import stats

from andrea_core.simplex import Region, sampling, tilt
from andrea_core.simplex.fixup import fix_up_rows
from andrea_core.testing.certificates import assert_member

DRAWS = 30_000


def uniform():
    """Chi-square over equal areas and the exact mean, at three sources, by both methods and in both directions."""
    for floors, caps in (({"a": 0.1, "b": 0.05}, {"a": 0.35, "b": 0.5, "c": 0.6}), ({}, {"a": 0.3, "b": 0.7})):
        region = Region.of("abc", floors, caps)
        for method in ("dirichlet", "tilted"):
            SEEN["uniform"] += 1
            sampler = attrs.evolve(sampling.prepare(region.box), method=method)
            assert_uniform(region, sampler.draw(np.random.default_rng(11), DRAWS))


def assert_uniform(region, draws):
    for w in draws[:200]:
        assert_member(region, w)
    low = np.maximum(region.lower[1], 1 - draws[:, 0] - region.upper[2])
    high = np.minimum(region.upper[1], 1 - draws[:, 0] - region.lower[2])
    counts = np.histogram((draws[:, 1] - low) / (high - low), bins=20, range=(0, 1))[0]
    assert counts.sum() == len(draws)
    assert stats.chisquare(counts).pvalue > 0.001
    assert abs(draws[:, 0].mean() - exact_first_mean(region)) < 5 * draws[:, 0].std() / math.sqrt(len(draws))
    # Draws are independent: the next one does not follow from the last.
    assert abs(np.corrcoef(draws[1:, 0], draws[:-1, 0])[0, 1]) < 5 / math.sqrt(len(draws))


def exact_first_mean(region):
    grid = np.linspace(region.lower[0], region.upper[0], 20_001)
    low = np.maximum(region.lower[1], 1 - grid - region.upper[2])
    high = np.minimum(region.upper[1], 1 - grid - region.lower[2])
    return float((grid * (high - low)).sum() / (high - low).sum())


SOUND_TILTED, SOUND_DIRICHLET = sampling._tilted, sampling._dirichlet
SOUND_PREPARE, SOUND_TILT = sampling.prepare, tilt.draw
SOUND_DRAW = sampling.Sampler.draw


def unthinned(sampler, rng, count):
    x, _ = SOUND_TILTED(sampler, rng, count)
    return x, (x[:, -1] >= 0) & (x[:, -1] <= sampler.u[-1])


def unrejected(sampler, rng, count):
    x, _ = SOUND_DIRICHLET(sampler, rng, count)
    return x, np.ones(count, dtype=bool)


def unmirrored(box):
    return attrs.evolve(SOUND_PREPARE(box), mirrored=not SOUND_PREPARE(box).mirrored)


def projected(self, rng, count):
    from andrea_core.simplex.projection import euclidean_rows

    x = rng.dirichlet(np.ones(len(self.box.lower)), count)
    return euclidean_rows(self.box.lower + (1 - self.box.lower.sum()) * x, self.box)


def clipped(self, rng, count):
    return fix_up_rows(rng.dirichlet(np.ones(len(self.box.lower)), count), self.box)


def stretched(self, rng, count):
    """Uniform numbers between the bounds, scaled to the mass: the copied recipe for random portfolios."""
    x = rng.random((count, len(self.box.lower))) * self.box.width
    return fix_up_rows(self.box.lower + x * (self.box.above / x.sum(axis=1, keepdims=True)), self.box)


def repeated(self, rng, count):
    return np.repeat(SOUND_DRAW(self, rng, (count + 1) // 2), 2, axis=0)[:count]


def wrong_tilt(u, theta, rng, count):
    return SOUND_TILT(u, 3.0 * theta + 1.0, rng, count)


SAMPLING_BUGS = {
    "tilted draws not thinned": (sampling, "_tilted", unthinned),
    "Dirichlet draws not rejected": (sampling, "_dirichlet", unrejected),
    "mirror forgotten": (sampling, "prepare", unmirrored),
    "Dirichlet draws projected": (sampling.Sampler, "draw", projected),
    "Dirichlet draws clipped": (sampling.Sampler, "draw", clipped),
    "uniform numbers scaled": (sampling.Sampler, "draw", stretched),
    "every draw given twice": (sampling.Sampler, "draw", repeated),
    "coordinates tilted otherwise than accepted": (tilt, "draw", wrong_tilt),
}
