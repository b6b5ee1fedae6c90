"""Power laws: loss against tokens as a floor plus a falling power, fitted robustly, all sources at once."""

from typing import NamedTuple

import numpy as np

from andrea_core import Vector
from andrea_plugins.policies.mixing import Integers, Mask

DELTA = 1e-3
"""Where the Huber loss of a log residual turns from squared to absolute."""

FEWEST = 8
"""The fewest points that a law is fitted to."""

FLATTEST = 1e-3
"""The smallest exponent of a law: losses that do not fall any more."""

ROUNDS = 200
"""The most improvements of a fit; most need 10 to 40."""


class Fit(NamedTuple):
    """L(n) = floor + reducible (n / anchor)^(-exponent), in nats a token, anchored at the last count; (K,) each."""

    floor: Vector
    reducible: Vector
    exponent: Vector


class Points(NamedTuple):
    """What laws are fitted to, (R, n) each: ln(n / anchor), ln loss, and what a point counts, 0 where there is none."""

    past: Vector
    loss: Vector
    mass: Vector


class Shape(NamedTuple):
    """How laws miss their points: the Huber cost (R,), its slope (3, R) and its curvature (3, 3, R)."""

    cost: Vector
    slope: Vector
    curve: Vector


def fitted(log_counts: Vector, log_losses: Vector, used: Integers, steepest: float) -> Fit:
    """Return the laws of points, (K, n) each and `used` (K,) of them in every row; NaN with fewer than FEWEST.

    Minimises the mean Huber loss of ln L - ln L(n) within bounds (`steepest` is the largest exponent), from the best
    point of a grid of exponents with their least-squares floor and reducible part, by damped Gauss-Newton steps with
    the Huber weights. Array arithmetic only: small LAPACK calls, as in scipy's L-BFGS-B, take a hundred times as long
    when the machine's threads are busy.
    """
    rows = np.flatnonzero(used >= FEWEST)
    laws = np.full((3, len(used)), np.nan)
    if len(rows):
        count = used[rows, None]
        valid = np.arange(log_counts.shape[1]) < count
        last = np.take_along_axis(log_counts[rows], count - 1, 1)
        past = np.where(valid, log_counts[rows] - last, 0.0)
        points = Points(past, np.where(valid, log_losses[rows], 0.0), valid / count)
        floor, reducible, exponent = _refined(_best_start(points, steepest), points, steepest)
        laws[:, rows] = np.exp(floor), np.exp(reducible), exponent
    return Fit(*laws)


def _best_start(points: Points, steepest: float) -> Vector:
    """Return (ln floor, ln reducible, exponent), (3, R), the best of a grid of exponents."""
    grid = np.linspace(min(0.02, steepest / 2), steepest, 20)
    starts = np.array([_start(points, exponent) for exponent in grid])
    costs = np.array([_shape(start, points).cost for start in starts])
    best: Vector = np.take_along_axis(starts, np.argmin(costs, axis=0)[None, None], 0)[0]
    return best


def _start(points: Points, exponent: float) -> Vector:
    """Return (ln floor, ln reducible, exponent), (3, R), by least squares for a given exponent."""
    power, loss = np.exp(-exponent * points.past), np.exp(points.loss)
    middle = (points.mass * power).sum(1)
    off = points.mass * (power - middle[:, None])
    spread = (off * power).sum(1)
    least = 1e-3 * np.where(points.mass > 0, loss, np.inf).min(1)
    reducible = np.maximum((off * loss).sum(1) / np.where(spread > 0, spread, np.inf), least)
    floor = np.maximum((points.mass * loss).sum(1) - reducible * middle, least)
    return np.array([np.log(floor), np.log(reducible), np.full(len(floor), exponent)])


def _refined(law: Vector, points: Points, steepest: float) -> Vector:
    """Return the laws (3, R) at a minimum within bounds, by damped Gauss-Newton steps, each taken if it improves."""
    lowest = np.where(points.mass > 0, points.loss, np.inf).min(1)
    highest = np.where(points.mass > 0, points.loss, -np.inf).max(1)
    low = np.array([lowest - 7.0, lowest - 14.0, np.full(len(lowest), FLATTEST)])
    high = np.array([highest, highest + 3.0, np.full(len(lowest), steepest)])
    law = np.clip(law, low, high)
    damping = np.full(len(lowest), 1e-3)
    shape = _shape(law, points)
    for _ in range(ROUNDS):
        held = ((law <= low) & (shape.slope > 0)) | ((law >= high) & (shape.slope < 0))
        trial = np.clip(law - _step(shape, held, damping), low, high)
        tried = _shape(trial, points)
        gained = shape.cost - tried.cost
        better = gained > 0
        law = np.where(better, trial, law)
        shape = Shape(*(np.where(better, new, old) for new, old in zip(tried, shape, strict=True)))
        damping = np.clip(damping * np.where(better, 0.2, 5.0), 1e-8, 1e8)
        if not (np.where(better, gained > 1e-9 * shape.cost, damping < 1e6) & (shape.cost > 1e-18)).any():
            break
    return law


def _shape(law: Vector, points: Points) -> Shape:
    """Return how laws (3, R) miss their points: mean Huber cost in units of DELTA squared, slope and curvature."""
    floor, reducible, exponent = law[:, :, None]
    predicted = np.logaddexp(floor, reducible - exponent * points.past)
    off = (predicted - points.loss) / DELTA
    size = np.abs(off)
    cost = (points.mass * np.where(size <= 1.0, 0.5 * off**2, size - 0.5)).sum(1)
    weight = points.mass / np.maximum(size, 1.0)
    part = np.exp(floor - predicted)
    change = np.array([part, 1.0 - part, -points.past * (1.0 - part)]) / DELTA
    weighted = weight * change
    slope = (weighted * off).sum(2)
    curve = np.array([[(weighted[i] * change[j]).sum(1) for j in range(3)] for i in range(3)])
    return Shape(cost, slope, curve)


def _step(shape: Shape, held: Mask, damping: Vector) -> Vector:
    """Return the damped Gauss-Newton steps (3, R); parameters `held` (3, R) at a bound stay."""
    scale = np.sqrt(np.maximum(np.einsum("iir->ir", shape.curve), 1e-30))
    slope = np.where(held, 0.0, shape.slope / scale)
    apart = ~(held[:, None] | held[None]) & ~np.eye(3, dtype=np.bool_)[:, :, None]
    matrix = np.where(apart, shape.curve / scale / scale[:, None], 0.0)
    diagonal = 1.0 + damping
    a, b, c = matrix[0, 1], matrix[0, 2], matrix[1, 2]
    inverse = np.array(
        [
            [diagonal**2 - c**2, b * c - a * diagonal, a * c - b * diagonal],
            [b * c - a * diagonal, diagonal**2 - b**2, a * b - c * diagonal],
            [a * c - b * diagonal, a * b - c * diagonal, diagonal**2 - a**2],
        ]
    )
    determinant = diagonal * inverse[0, 0] + a * inverse[0, 1] + b * inverse[0, 2]
    step: Vector = (inverse * slope).sum(1) / np.maximum(determinant, 1e-30) / scale
    return step
