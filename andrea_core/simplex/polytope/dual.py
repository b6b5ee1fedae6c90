"""Nearest points under bounds and rows: Newton steps on one multiplier a row around the exact projection.

A general solver of quadratic programs would see 2 K bounds and treat them as it treats rows, to a tolerance. Here each
step ends in an exact projection onto the bounds, which so hold bitwise, and the search runs over as many numbers as
there are rows; nothing but numpy is needed.
"""

from collections.abc import Callable

import attrs
import numpy as np

from andrea_core.simplex.box import Box
from andrea_core.simplex.divergence import kullback_leibler
from andrea_core.simplex.polytope.lp import Rows
from andrea_core.simplex.projection import euclidean
from andrea_core.values import Mask, Vector

STEPS = 80
HALVINGS = 60
FLAT = 0.2
"""A slope below this share of the first one ends the search along a step."""
FARTHEST = 1e15
"""Multipliers beyond this, against vectors of at most 1e6, change nothing that a float can hold."""
CLOSE = 1e-13
"""Rows met to this end the search."""
_ROUNDING = 1e-14
_TINY = 1e-30
"""What stands for a weight of 0 under the Kullback-Leibler divergence, relative to the largest weight."""


@attrs.frozen(eq=False)
class Metric:
    """How far weights are from a given vector: the nearest point of a box when prices (K,) are added, and the rest.

    `nearest(v, prices, box)` minimises distance + prices * w over the box; `bend(w, free)` are the second derivatives
    of its inverse, (m,), at the free weights.
    """

    nearest: Callable[[Vector, Vector, Box], Vector]
    bend: Callable[[Vector], Vector]


def _tilted(p: Vector, prices: Vector, box: Box) -> Vector:
    exponent = -prices
    return kullback_leibler(p * np.exp(np.maximum(exponent - exponent.max(), -600.0)), box)


METRICS = {
    "euclidean": Metric(lambda v, prices, box: euclidean(v - prices, box), np.ones_like),
    "kl": Metric(_tilted, lambda w: w),
}


def nearest(v: Vector, rows: Rows, box: Box, divergence: str) -> Vector:
    """Return the point of the box nearest to v (K,) that meets the rows, as far as the search gets.

    The dual is concave and piecewise smooth with one multiplier a row, positive where a high side binds, negative where
    a low one does. Steps are those of a projected Newton method (Bertsekas 1982), each searched for its peak.
    """
    metric = METRICS[divergence]
    v = _without_zeros(v) if divergence == "kl" else _tamed(v, box)
    prices = np.zeros(len(rows.low))
    state = _State.at(v, prices, rows, box, metric)
    for _ in range(STEPS):
        if state.miss <= CLOSE:
            break
        better = _improved(state, v, rows, box, metric)
        if better is None:
            break
        state = better
    return state.w


def _without_zeros(p: Vector) -> Vector:
    return np.maximum(p / p.max(), _TINY) if p.any() else np.ones_like(p)


def _tamed(v: Vector, box: Box) -> Vector:
    """Return a vector of moderate size with about the same nearest point: projections look at differences alone."""
    half = np.ldexp(v, -1)  # differences of the largest numbers stay finite
    middle = np.sort(half)[len(half) // 2]
    return np.asarray(2.0 * np.clip(half - middle, -0.5e6, 0.5e6))


@attrs.frozen(eq=False)
class _State:
    """Multipliers, the weights they lead to, how far each row is off, and the largest miss."""

    prices: Vector
    w: Vector
    off: Vector
    miss: float

    @classmethod
    def at(cls, v: Vector, prices: Vector, rows: Rows, box: Box, metric: Metric) -> "_State":
        w = metric.nearest(v, prices @ rows.matrix, box)
        values = rows.matrix @ w
        side = np.where(prices > 0, rows.high, np.where(prices < 0, rows.low, np.clip(values, rows.low, rows.high)))
        off = values - side
        return cls(prices, w, off, float(np.abs(off).max(initial=0.0)))


def _improved(state: _State, v: Vector, rows: Rows, box: Box, metric: Metric) -> _State | None:
    """Return the state where the dual about peaks along the step, None when the step does not rise.

    The slope of the dual along a direction is that of the rows' misses: it falls, and where it is about 0 is found by
    going on while it is steep, and halving once it is negative. At a kink, where a multiplier meets 0, the far side is
    taken: there it is 0.
    """
    direction = _direction(state, rows, box, metric)
    first = float(direction @ state.off)
    if not first > 0.0:
        return None
    near, far, step, found = 0.0, np.inf, 1.0, state
    size = float(np.abs(direction).max())
    for _ in range(HALVINGS):
        other, slope = _along(state, direction, step, v, rows, box, metric)
        if abs(slope) <= FLAT * first:
            return other
        if slope > 0.0 and far == np.inf:
            near, found = step, other
        elif slope > 0.0:
            near = step
        else:
            far, found = step, other
        step = 4.0 * step if far == np.inf else 0.5 * (near + far)
        if step * size > FARTHEST:
            break
    return found


def _along(
    state: _State, direction: Vector, step: float, v: Vector, rows: Rows, box: Box, metric: Metric
) -> tuple[_State, float]:
    """Return the state at a step and the slope there; multipliers stop at 0 rather than change sign."""
    prices = state.prices + step * direction
    crossed = (prices * state.prices < 0) & (rows.low != rows.high)
    other = _State.at(v, np.where(crossed, 0.0, prices), rows, box, metric)
    gains = direction * other.off
    return other, float(gains[~crossed | (gains < 0.0)].sum())


def _direction(state: _State, rows: Rows, box: Box, metric: Metric) -> Vector:
    """Return the Newton direction (R,) of the rows that bind or are off; the others keep their multiplier of 0.

    A multiplier of 0 may only move to the side on which its row is off; rows that would not are left out, one round
    after the other.
    """
    free = (state.w > box.lower + _ROUNDING) & (state.w < box.upper - _ROUNDING)
    bend = metric.bend(state.w[free])
    columns = rows.matrix[:, free]
    curvature = (columns * bend) @ columns.T
    if bend.sum() > 0:
        mean = columns @ bend
        curvature -= np.outer(mean, mean) / bend.sum()
    reach = 1.0 + 2.0 * float(np.abs(state.prices).max())
    work: Mask = (state.prices != 0.0) | (state.off != 0.0)
    direction = np.zeros(len(work))
    for _ in range(len(work)):
        direction[:] = 0.0
        direction[work] = _solved(curvature[np.ix_(work, work)], state.off[work], reach)
        astray = work & (state.prices == 0.0) & (direction * state.off < 0.0)
        if not astray.any():
            break
        work = work & ~astray
    return direction


def _solved(curvature: Vector, off: Vector, reach: float) -> Vector:
    """Return the Newton step, no longer than `reach`, and one of that length along what the curvature leaves flat."""
    sizes, axes = np.linalg.eigh(curvature)
    along = axes.T @ off
    bent = sizes > 1e-10 * max(float(sizes.max(initial=0.0)), 1e-6)
    newton = axes @ np.where(bent, along / np.where(bent, sizes, 1.0), 0.0)
    newton *= min(1.0, reach / max(float(np.abs(newton).max(initial=0.0)), 1e-300))
    flat = axes @ np.where(bent, 0.0, along)
    length = float(np.abs(flat).max(initial=0.0))
    return np.asarray(newton + (reach / length) * flat if length > 1e-12 else newton)
