"""Regions to measure on: floors of .3 to .95 in total, lognormal widths, caps loose, middling or tight."""

import numpy as np

from andrea_core.simplex import Region

RATIOS = {"loose": 0.02, "middling": 0.2, "tight": 0.45}
"""The mass above the floors as a part of the summed widths."""


def cut(n: int, kind: str, seed: int) -> Region:
    rng = np.random.default_rng((n, seed))
    names = [f"s{i}" for i in range(n)]
    total = rng.uniform(0.3, 0.95)
    lower = total * rng.dirichlet(np.ones(n))
    width = rng.lognormal(0.0, 1.0, n)
    upper = np.minimum(1.0, lower + width * (1.0 - total) / (RATIOS[kind] * width.sum()))
    return Region.of(names, dict(zip(names, lower, strict=True)), dict(zip(names, upper, strict=True)))


def near(region: Region, rng: np.random.Generator) -> np.ndarray:
    """Return a vector around the region, some of whose sources will end on a bound."""
    n = len(region.names)
    return region.sample(rng) + rng.normal(size=n) / n
