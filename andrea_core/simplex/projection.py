"""Euclidean projection onto the box-bounded simplex, for one vector or for rows."""

import math

import numpy as np

from andrea_core.simplex import checking
from andrea_core.simplex.box import Box
from andrea_core.simplex.dual import bracket, bracket_rows, identity
from andrea_core.simplex.fixup import fix_up, fix_up_rows
from andrea_core.simplex.quick import by_newton
from andrea_core.simplex.ties import REFINEMENTS, decided, doubtful, refined
from andrea_core.values import Mask, Vector

FAR = 4.0
"""A multiplier beyond this is recentred first: v - upper and v - lower lose digits of the bounds there.

The right end of the bracket is the one to look at: where both breakpoints of a coordinate merge into one number, the
sum taken there is the one after it, so that a root inside the merged stretch is always bracketed from the right.
"""
_HUGE = 1e300


def euclidean(v: Vector, box: Box) -> Vector:
    """Return the point of the box nearest to v (K,) in the Euclidean norm, v itself if it is legal.

    The solution is clip(v - theta, lower, upper) with one scalar theta (Held, Wolfe and Crowder 1974). Raises
    ValueError for NaN and infinity.
    """
    w = by_newton(v, box)
    return _by_search(v, box) if w is None else w


@np.errstate(over="ignore")  # entries may be anything finite; an infinite difference is as far off a bound as any
def _by_search(v: Vector, box: Box) -> Vector:
    """Return the projection by searching the breakpoints.

    These only tell which coordinates lie between their bounds, ties by exact integers; theta then follows from those,
    so that no digits are lost.
    """
    checking.refuse_unless_finite(v)
    if box.is_point or box.holds(v):
        return box.lower.copy() if box.is_point else v.copy()
    left, right = bracket(v, v - box.upper, v - box.lower, box, identity)
    if abs(right) > FAR:
        v = _recentred(v, right)
        left, right = bracket(v, v - box.upper, v - box.lower, box, identity)
    at_upper = v - box.upper >= right
    between = ~at_upper & (v - box.lower > left)
    return fix_up(*decided(v, refined(v, at_upper, between, box, _moved), box, _moved))


def _recentred(v: Vector, theta: float) -> Vector:
    """Return v less its entry nearest to theta, so that the entries that matter are small and exact."""
    base = v[np.abs(v - theta).argmin()]
    return np.asarray(np.clip(v - base, -_HUGE, _HUGE))


def _moved(v: Vector, at_upper: Mask, between: Mask, box: Box) -> Vector:
    """Return v - theta; theta less the smallest v that is free is a weight, which rounding hurts least."""
    if not between.any():
        return np.where(at_upper, box.upper, box.lower)
    v = v - v[between].min()
    terms = np.where(between, v, np.where(at_upper, box.upper, box.lower)).tolist()
    terms.append(-box.total)
    moved: Vector = v - math.fsum(terms) / np.count_nonzero(between)
    return moved


@np.errstate(over="ignore")
def euclidean_rows(rows: Vector, box: Box) -> Vector:
    """Return the Euclidean projection of each row (N, K), equal to that of single vectors within rounding."""
    given = rows
    left, right = bracket_rows(rows, rows - box.upper, rows - box.lower, box, identity)
    far = np.flatnonzero(np.abs(right[:, 0]) > FAR)
    if len(far):
        rows = rows.copy()
        rows[far] = [_recentred(rows[i], float(right[i, 0])) for i in far]
        left[far], right[far] = bracket_rows(rows[far], rows[far] - box.upper, rows[far] - box.lower, box, identity)
    at_upper = rows - box.upper >= right
    between = ~at_upper & (rows - box.lower > left)
    base = np.where(between, rows, np.inf).min(axis=1, keepdims=True)
    base[np.isinf(base)] = 0.0
    x, sure = _refine_rows(rows - base, at_upper, between, box)
    unsure = np.flatnonzero(~sure | doubtful(x, box).any(axis=1))
    result = fix_up_rows(x, box)
    for i in unsure:
        result[i] = _by_search(given[i], box)
    return result


def _refine_rows(rows: Vector, at_upper: Mask, between: Mask, box: Box) -> tuple[Vector, Mask]:
    """Return rows - theta as `refined` does, and which rows (N,) ended with coordinates free, and the same ones."""
    x, inside = rows, between
    for _ in range(REFINEMENTS):
        before = inside
        terms = np.where(before, rows, np.where(at_upper, box.upper, box.lower))
        x = rows - (terms.sum(axis=1) - box.total)[:, None] / np.maximum(before.sum(axis=1), 1)[:, None]
        at_upper = x >= box.upper
        inside = ~at_upper & (x > box.lower)
        if (inside == before).all():
            break
    return x, (inside == before).all(axis=1) & inside.any(axis=1)
