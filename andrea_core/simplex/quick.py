"""Euclidean projection of one vector by a few Newton steps, given up unless the result proves itself right."""

import math

import numpy as np
from numpy import array, maximum, minimum, vdot

from andrea_core.simplex.box import MARGIN, Box
from andrea_core.values import Mask, Vector

FEW = 36
"""Up to so many coordinates plain numbers are quicker than arrays."""
NEWTON = 16
FAR = 100.0
"""A mean that is farther off is left to the search, for lack of digits; so are NaN, infinity and an overflow."""
LEGAL = 1e-9
"""A vector whose sum is farther off is not legal, whatever the order of summation."""
CLOSE = 0.005
"""A step of less than this over the number of coordinates hardly changes which of them are free."""
SETTLED = MARGIN / 4.0
"""A sum off by up to this for each free coordinate is right but for rounding, if the walls say so."""
DUMPED = 2.0**-51
"""A residual of up to this may go to a single coordinate; a larger one is spread over all that are free."""


def by_newton(v: Vector, box: Box) -> Vector | None:
    """Return the projection of v (K,), v itself if it is legal, or None when another way has to decide.

    The projection is clip(v - theta, lower, upper) for one theta, mostly found in two to four Newton steps. It is
    proved by the sum, exact but for one rounding: within MARGIN of theta no coordinate meets a bound, so the root of
    the sum is where the free ones say. Newton may cycle here, since both bounds bend the dual (Cominetti, Mascarenhas
    and Silva 2014): a step that leaves the bracket goes to where the chord of its ends meets 0. Ties with a bound are
    nowhere beyond doubt: then None.
    """
    return _of_few(v, box) if len(v) <= FEW else _of_many(v, box)


def _of_few(v: Vector, box: Box) -> Vector | None:
    """Return what `by_newton` does, by plain numbers."""
    numbers, bounds, total, count = v.tolist(), box.pairs, box.total, len(v)
    excess = sum(numbers) - total
    theta, close = excess / count, CLOSE / count
    if not abs(theta) <= FAR:
        return None
    if abs(excess) <= LEGAL and box.holds(v):
        return v.copy()
    left, over, right, under = -math.inf, 0.0, math.inf, 0.0
    for _ in range(NEWTON):
        excess, free = -total, 0
        for a, (low, high) in zip(numbers, bounds, strict=True):
            x = a - theta
            if x <= low:
                excess += low
            elif x >= high:
                excess += high
            else:
                excess += x
                free += 1
        step = excess / (free or 1)
        if excess > 0:
            left, over = theta, excess
        else:
            right, under = theta, excess
        if over and under and not left < theta + step < right:
            step = left + (right - left) * over / (over - under) - theta
        theta += step
        if -close < step < close:
            w = _sure(numbers, theta, box)
            if w is None:
                return None
            if _settled(w, box):
                return np.array(w)
    return None


def _sure(v: list[float], theta: float, box: Box) -> list[float] | None:
    """Return clip(v - theta, lower, upper), or None if a coordinate is too near to a bound or none is free."""
    w: list[float] = []
    add, free = w.append, False
    for a, (below, start, to, above, low, high) in zip(v, box.fences, strict=True):
        x = a - theta
        if x < below:
            add(low)
        elif x > above:
            add(high)
        elif start < x < to:
            add(x)
            free = True
        else:
            return None
    return w if free else None


def _settled(w: list[float], box: Box) -> bool:
    """Move the exact residual of w into free coordinates and return True, if it is that of a root of the sum."""
    low, high = box.half_units
    excess = math.fsum([*w, -box.total])
    if low < excess < high:
        return True
    free = [i for i, (x, fence) in enumerate(zip(w, box.fences, strict=True)) if fence[1] < x < fence[2]]
    if not free or not abs(excess) <= SETTLED * len(free):
        return False
    if abs(excess) > DUMPED:
        for i in free:
            w[i] -= excess / len(free)
        excess = math.fsum([*w, -box.total])
    w[min(free, key=w.__getitem__)] -= excess
    return low < math.fsum([*w, -box.total]) < high


def _of_many(v: Vector, box: Box) -> Vector | None:
    """Return what `by_newton` does, by arrays.

    A number in an array of its own is subtracted twice as fast, and the ones of a mask are counted twice as fast as
    bytes. `vdot` tells an overflow by infinity, where `dot` would warn.
    """
    lower, upper, ones, total, count = box.lower, box.upper, box.ones, box.total, len(v)
    excess = float(vdot(v, ones)) - total
    theta, close = excess / count, CLOSE / count
    if not abs(theta) <= FAR:
        return None
    if abs(excess) <= LEGAL and box.holds(v):
        return v.copy()
    left, over, right, under = -math.inf, 0.0, math.inf, 0.0
    for _ in range(NEWTON):
        x = v - array(theta)
        w: Vector = minimum(maximum(x, lower), upper)
        free = (w == x).tobytes().count(1)
        excess = float(w.dot(ones)) - total
        step = excess / (free or 1)
        if excess > 0:
            left, over = theta, excess
        else:
            right, under = theta, excess
        if over and under and not left < theta + step < right:
            step = left + (right - left) * over / (over - under) - theta
        theta += step
        if -close < step < close:
            w, beyond, free = _walled(v, theta, box)
            if not free or not theta:  # in doubt, or less 0.0, which would leave -0.0 as it is
                return None
            if _balanced(w, beyond, free, box):
                return w
    return None


def _walled(v: Vector, theta: float, box: Box) -> tuple[Vector, Mask, int]:
    """Return clip(v - theta, lower, upper), on which side of the walls v - theta lies, and how many are free.

    None count as free if a coordinate is too near to a bound for its side to be sure.
    """
    x = v - array(theta)
    beyond = x > box.walls
    marks, count = beyond.tobytes(), len(v)
    free = marks.count(1, 2 * count, 3 * count) - marks.count(1, 3 * count)
    sure = marks.count(1, 0, 2 * count) == marks.count(1, 2 * count)
    return minimum(maximum(x, box.lower), box.upper), beyond, free if sure else 0


def _balanced(w: Vector, beyond: Mask, free: int, box: Box) -> bool:
    """Do with an array what `_settled` does, its free coordinates being those beyond the third wall only."""
    low, high = box.half_units
    excess = _excess(w, box)
    if low < excess < high:
        return True
    if not abs(excess) <= SETTLED * free:
        return False
    inside = beyond[2] > beyond[3]
    if abs(excess) > DUMPED:
        w[inside] -= excess / free
        excess = _excess(w, box)
    j = inside.argmax()
    w[j] -= excess
    # Below half the total, the last unit of a weight is too small for its rounding to be seen in the sum.
    return bool(w[j] < 0.5 * box.total) or low < _excess(w, box) < high


def _excess(w: Vector, box: Box) -> float:
    """Return the correctly rounded sum(w) - total."""
    values = w.tolist()
    values.append(-box.total)
    return math.fsum(values)
