"""Volume, mean and covariance of a region with rows: estimates from draws, with their standard errors."""

import math

import attrs
import numpy as np
from numpy.random import Generator

from andrea_core.simplex.bounds import Bounds
from andrea_core.simplex.groups import estimates
from andrea_core.simplex.moments import Estimate
from andrea_core.simplex.polytope.sampling import PolytopeSampler, ends
from andrea_core.simplex.polytope.survey import Survey
from andrea_core.simplex.slices import Slice
from andrea_core.simplex.volume import LogVolume, log_fraction as log_box
from andrea_core.values import Vector

DRAWS = 20_000
FEW = 4_000
"""Draws for moments by rejection, and by hit-and-run."""
ATTEMPTS = 500_000
RUNS = 8
CHAINS = 200
KEPT = 0.3
"""Independent runs of multilevel splitting, chains in each, and the share of chains that a level keeps."""
STEPS = 6
"""Steps of a chain between two levels, for each dimension."""


def log_fraction(stated: Bounds, known: Survey, sampler: PolytopeSampler) -> LogVolume:
    """Return an estimate of the log of the share that the region takes of the simplex over its free sources.

    The share of what the bounds of sources leave is exact; the share of that which rows leave is the share of uniform
    draws that meet them, or, where this is tiny, comes by multilevel splitting (Kahn and Harris 1951). Where rows hold
    with equality, the share is of what these rows leave of the simplex.
    """
    if known.basis.shape[1] == 0:
        return LogVolume(0.0, 0.0, "point", 0)
    dimension = known.basis.shape[1]
    if sampler.method == "rejection":
        count = _count(sampler.acceptance)
        share = float(sampler.met(sampler.plain.draw(np.random.default_rng(1), count)).mean())
        value, error = math.log(max(share, 1.0 / count)), math.sqrt((1.0 - share) / max(share * count, 1.0))
    else:
        value, error = _split(known, sampler, np.random.default_rng(1))
    if not known.tied.any():
        # The draws come from the box, which groups may have tightened beyond what is stated of sources.
        box = known.box
        whole = log_box(Slice.of(attrs.evolve(stated, lower=box.lower, upper=box.upper), box))
        value, error = value + whole.value, error + whole.error
    return LogVolume(min(value, 0.0), error, "draws", dimension)


def _count(acceptance: float) -> int:
    return int(min(max(ATTEMPTS, DRAWS / acceptance), 4 * ATTEMPTS))


def _split(known: Survey, sampler: PolytopeSampler, rng: Generator) -> tuple[float, float]:
    """Return the log of the share of the outer body that the region takes, and its standard error over runs."""
    shares = np.array([_run(known, sampler, rng) for _ in range(RUNS)])
    peak = float(shares.max())
    relative = np.exp(shares - peak)
    mean = float(relative.mean())
    return peak + math.log(mean), float(relative.std(ddof=1)) / math.sqrt(RUNS) / mean


def _run(known: Survey, sampler: PolytopeSampler, rng: Generator) -> float:
    """Return the log share from one run: the body shrinks by levels, each keeping some of the chains.

    The body at level s holds the points whose offset from the centre meets the inner sides with s times their slack.
    """
    outer, inner = _sides(known)
    centre = known.centre
    if known.tied.any():
        x = _walked(np.tile(centre, (CHAINS, 1)), outer, known.basis, 5 * STEPS * known.basis.shape[1], rng)
    else:
        x = sampler.plain.draw(rng, CHAINS)
    slack = np.maximum(inner[1] - inner[0] @ centre, 1e-300)
    value = 0.0
    while True:
        size = ((x - centre) @ inner[0].T / slack).max(axis=1)
        level = max(1.0, float(np.quantile(size, KEPT)))
        kept = np.flatnonzero(size <= level)
        value += math.log(len(kept) / len(x))
        if level == 1.0:
            return value
        x = x[rng.choice(kept, CHAINS)]
        body = np.vstack([outer[0], inner[0]]), np.concatenate([outer[1], inner[0] @ centre + level * slack])
        x = _walked(x, body, known.basis, STEPS * known.basis.shape[1], rng)


def _sides(known: Survey) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
    """Return (G, h) with G w <= h of the body that the region is a share of, and of what cuts the region out."""
    box, free = known.box, known.box.is_free
    matrix, limits = known.rows.one_sided()
    rows = matrix[~known.tied], limits[~known.tied]
    unit = np.eye(len(box.lower))[free]
    bounds = np.vstack([-unit, unit]), np.concatenate([-box.lower[free], box.upper[free]])
    if not known.tied.any():
        return bounds, rows
    both = np.vstack([bounds[0], rows[0]]), np.concatenate([bounds[1], rows[1]])
    return (-unit, np.zeros(len(unit))), both


def _walked(x: Vector, body: tuple[Vector, Vector], basis: Vector, steps: int, rng: Generator) -> Vector:
    """Return the chains (C, K) after some steps of hit-and-run in any direction of the hull."""
    for _ in range(steps):
        direction = rng.standard_normal((len(x), basis.shape[1])) @ basis.T
        low, high = ends(direction @ body[0].T, body[1] - x @ body[0].T)
        x = x + (low + (high - low) * rng.random(len(x)))[:, None] * direction
    return x


def moments(sampler: PolytopeSampler, covariance: bool) -> Estimate:
    """Return the mean (K,), or the covariance (K, K), of draws; errors reckon with what the draws are worth."""
    if sampler.method == "point":
        w = sampler.known.box.lower
        return Estimate.sure(np.zeros((len(w), len(w))) if covariance else w.copy(), "point")
    exact = sampler.method == "rejection"
    count = min(DRAWS, max(FEW, int(ATTEMPTS * sampler.acceptance))) if exact else FEW
    rows, effective = sampler.report(np.random.default_rng(1), count)
    made = estimates.covariance(rows) if covariance else estimates.mean(rows)
    return Estimate(made.value, made.error * math.sqrt(len(rows) / max(effective, 1.0)), made.method)
