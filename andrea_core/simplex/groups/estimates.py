"""Estimates from random draws where group bounds are too many for quadrature: volume, mean, covariance."""

import math

import numpy as np
from numpy.random import Generator

from andrea_core.errors import AndreaError
from andrea_core.simplex import tilt
from andrea_core.simplex.groups import tilts
from andrea_core.simplex.groups.sampling import attempt
from andrea_core.simplex.groups.tilts import Block, Plan
from andrea_core.simplex.moments import Estimate
from andrea_core.values import Mask, Vector

NUMBERS = 2**21
"""Random numbers spent on an estimate."""
LEAST = 100
"""Accepted attempts below which an estimate of a volume is refused."""
_ROUNDS = 64


def log_volume(plan: Plan, rng: Generator) -> tuple[float, float]:
    """Return the log volume of the loose totals and weights, and the standard error of it.

    The sampler accepts independent tilted weights in proportion to the uniform law; what it attempts has a density
    known in closed form, so that the shares accepted, of each drawn block and of what is left, give the volume.
    Raises AndreaError when nearly nothing is accepted.
    """
    base, value, variance = plan.shared.theta, 0.0, 0.0
    count = max(1000, NUMBERS // len(plan.columns))
    for block in plan.drawn:
        tried, accepted = count, int(np.count_nonzero(_accepted(block, rng, count)))
        value += _envelope(block) + math.log(max(accepted, 1) / tried)
        variance += _variance(accepted, tried)
    tried = accepted = 0
    for _ in range(_ROUNDS):
        accepted += int(np.count_nonzero(attempt(plan, rng, count)[1]))
        tried += count
        if accepted >= 10 * LEAST:
            break
    if accepted < LEAST:
        raise AndreaError("the groups leave too thin a set for its volume to be estimated from draws")
    value += _envelope(plan.shared) + base * plan.mass + math.log(accepted / tried)
    return value, math.sqrt(variance + _variance(accepted, tried))


def _variance(accepted: int, tried: int) -> float:
    return (1.0 - accepted / tried) / max(accepted, 1)


def _accepted(block: Block, rng: Generator, count: int) -> Mask:
    return tilts.split(block.u, block.theta, tilts.totals_of(block, rng, count), rng)[1]


def _envelope(block: Block) -> float:
    """Return the log of what a block's accepted attempts have to be multiplied by, but for exp(base total)."""
    theta, log = block.theta, float(tilt.log_mass(abs(block.theta), block.u[:-1]).sum())
    log += max(-theta, 0.0) * float(block.u.sum())
    if block.span:
        log += _log_exponential(block.rate, block.span) - block.rate * block.low
    return log


def _log_exponential(rate: float, span: float) -> float:
    """Return the log of the integral of exp(-rate x) over [0, span]."""
    whole = float(tilt.log_mass(abs(rate), np.array([span]))[0])
    return whole + max(-rate, 0.0) * span


def mean(draws: Vector) -> Estimate:
    """Return the mean of draws (N, K) with its standard error."""
    return Estimate(draws.mean(axis=0), draws.std(axis=0, ddof=1) / math.sqrt(len(draws)), "draws")


def covariance(draws: Vector) -> Estimate:
    """Return the covariance of draws (N, K) with its standard error."""
    centred = draws - draws.mean(axis=0)
    products = centred.T @ centred / len(draws)
    squares = (centred**2).T @ centred**2 / len(draws) - products**2
    scale = len(draws) / (len(draws) - 1)
    return Estimate(products * scale, np.sqrt(np.maximum(squares, 0.0) / len(draws)), "draws")
