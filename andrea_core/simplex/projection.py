"""Euclidean projection onto the box-bounded simplex, for one vector or for rows."""

import math

import numpy as np

from andrea_core.simplex.box import Box
from andrea_core.simplex.dual import bracket, bracket_rows, identity
from andrea_core.simplex.fixup import fix_up, fix_up_rows
from andrea_core.values import Mask, Vector

REFINEMENTS = 8
FAR = 4.0
"""A multiplier beyond this is recentred first: v - upper and v - lower lose digits of the bounds there.

The right end of the bracket is the one to look at: where both breakpoints of a coordinate merge into one number, the
sum taken there is the one after it, so that a root inside the merged stretch is always bracketed from the right.
"""
_HUGE = 1e300


def euclidean(v: Vector, box: Box) -> Vector:
    """Return the point of the box nearest to v (K,) in the Euclidean norm.

    The solution is clip(v - theta, lower, upper) with one scalar theta (Held, Wolfe and Crowder 1974). The breakpoints
    only tell which coordinates lie between their bounds; theta then follows from those, so that no digits are lost.
    """
    left, right = bracket(v, v - box.upper, v - box.lower, box, identity)
    if abs(right) > FAR:
        v = _recentred(v, right)
        left, right = bracket(v, v - box.upper, v - box.lower, box, identity)
    at_upper = v - box.upper >= right
    between = ~at_upper & (v - box.lower > left)
    if not between.any():
        return fix_up(np.where(at_upper, box.upper, box.lower), box)
    return fix_up(_refine(v - v[between.argmax()], at_upper, between, box), box)


def _recentred(v: Vector, theta: float) -> Vector:
    """Return v less its entry nearest to theta, so that the entries that matter are small and exact."""
    with np.errstate(over="ignore"):
        base = v[np.abs(v - theta).argmin()]
        return np.asarray(np.clip(v - base, -_HUGE, _HUGE))


def _refine(v: Vector, at_upper: Mask, between: Mask, box: Box) -> Vector:
    """Return v - theta for the theta that the coordinates between their bounds imply, until those stay the same."""
    x = v
    for _ in range(REFINEMENTS):
        fixed = np.where(at_upper, box.upper, box.lower)
        terms = np.where(between, v, fixed).tolist()
        terms.append(-box.total)
        x = v - math.fsum(terms) / np.count_nonzero(between)
        at_upper = x >= box.upper
        inside = ~at_upper & (x > box.lower)
        if not inside.any() or (inside == between).all():
            break
        between = inside
    return x


def euclidean_rows(rows: Vector, box: Box) -> Vector:
    """Return the Euclidean projection of each row (N, K), equal to that of single vectors within rounding."""
    left, right = bracket_rows(rows, rows - box.upper, rows - box.lower, box, identity)
    far = np.flatnonzero(np.abs(right[:, 0]) > FAR)
    if len(far):
        rows = rows.copy()
        rows[far] = [_recentred(rows[i], float(right[i, 0])) for i in far]
        left[far], right[far] = bracket_rows(rows[far], rows[far] - box.upper, rows[far] - box.lower, box, identity)
    at_upper = rows - box.upper >= right
    between = ~at_upper & (rows - box.lower > left)
    base = rows[np.arange(len(rows)), between.argmax(axis=1)][:, None]
    x = _refine_rows(rows - base, at_upper, between, box)
    flat = ~between.any(axis=1)
    x[flat] = np.where(at_upper, box.upper, box.lower)[flat]
    return fix_up_rows(x, box)


def _refine_rows(rows: Vector, at_upper: Mask, between: Mask, box: Box) -> Vector:
    """Return rows - theta as `_refine` does; rows whose free coordinates are settled or gone keep their theta."""
    x = rows
    for _ in range(REFINEMENTS):
        terms = np.where(between, rows, np.where(at_upper, box.upper, box.lower))
        x = rows - (terms.sum(axis=1) - box.total)[:, None] / np.maximum(between.sum(axis=1), 1)[:, None]
        at_upper = x >= box.upper
        inside = ~at_upper & (x > box.lower)
        keep = ~inside.any(axis=1)
        inside[keep] = between[keep]
        if (inside == between).all():
            break
        between = inside
    return x
