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
SMALL = 2.0
"""Entries of at most this size are far from having to be recentred."""
NEWTON = 12
FEW = 32
"""Up to so many coordinates plain numbers are quicker than arrays."""
SETTLED = 1e-13


def euclidean(v: Vector, box: Box) -> Vector:
    """Return the point of the box nearest to v (K,) in the Euclidean norm.

    The solution is clip(v - theta, lower, upper) with one scalar theta (Held, Wolfe and Crowder 1974). The breakpoints
    only tell which coordinates lie between their bounds; theta then follows from those, so that no digits are lost.
    """
    found = _of_few(v.tolist(), box) if len(v) <= FEW else _by_newton(v, box)
    if found is not None:
        return found
    left, right = bracket(v, v - box.upper, v - box.lower, box, identity)
    if abs(right) > FAR:
        v = _recentred(v, right)
        left, right = bracket(v, v - box.upper, v - box.lower, box, identity)
    at_upper = v - box.upper >= right
    between = ~at_upper & (v - box.lower > left)
    if not between.any():
        return fix_up(np.where(at_upper, box.upper, box.lower), box)
    return fix_up(_refine(v - v[between.argmax()], at_upper, between, box), box)


def _by_newton(v: Vector, box: Box) -> Vector | None:
    """Return the projection by a few Newton steps on theta, or None unless its free coordinates prove themselves right.

    Most vectors need three to five steps, fewer than the search over breakpoints. Newton may cycle here, since both
    bounds bend the dual (Cominetti, Mascarenhas and Silva 2014): then, and in every doubtful case, that search decides.
    """
    if np.maximum.reduce(np.abs(v)) > SMALL:
        return None
    ones = box.ones
    lower, upper, total = box.lower, box.upper, box.total
    theta = (v.dot(ones) - total) / len(v)
    for _ in range(NEWTON):
        x = v - theta
        w = np.minimum(np.maximum(x, lower), upper)
        free = w == x
        count = np.count_nonzero(free)
        excess = w.dot(ones) - total
        if not count or abs(excess) <= SETTLED:
            break
        theta += excess / count
    at_upper = x >= upper
    between = (x > lower) > at_upper
    first = between.argmax()
    if not between[first]:
        return None
    base = v[first]
    shifted = v - base
    terms = np.where(between, shifted, w).tolist()
    terms.append(-total)
    x = shifted - math.fsum(terms) / np.count_nonzero(between)
    still = x >= upper
    proved = still.tobytes() == at_upper.tobytes() and ((x > lower) > still).tobytes() == between.tobytes()
    return fix_up(x, box) if proved else None


def _of_few(v: list[float], box: Box) -> Vector | None:
    """Return what `_by_newton` does, from a list (K,)."""
    if max(v) > SMALL or min(v) < -SMALL:
        return None
    bounds, total = box.pairs, box.total
    theta = (sum(v) - total) / len(v)
    for _ in range(NEWTON):
        carried, count = -total, 0
        for a, (low, high) in zip(v, bounds, strict=True):
            x = a - theta
            if x >= high:
                carried += high
            elif x > low:
                carried += x
                count += 1
            else:
                carried += low
        if not count or abs(carried) <= SETTLED:
            break
        theta += carried / count
    return _proved([a - theta for a in v], v, box) if count else None


def _proved(x: list[float], v: list[float], box: Box) -> Vector | None:
    """Return the projection with the theta that the free entries of x imply, if that leaves the same entries free."""
    places = [2 if a >= high else a > low for a, (low, high) in zip(x, box.pairs, strict=True)]
    if True not in places:
        return None
    base, total = v[places.index(True)], box.total
    shifted = [a - base for a in v]
    terms = [
        a if place is True else pair[place // 2] for a, place, pair in zip(shifted, places, box.pairs, strict=True)
    ]
    theta = math.fsum([*terms, -total]) / places.count(True)
    x = [a - theta for a in shifted]
    again = [2 if a >= high else a > low for a, (low, high) in zip(x, box.pairs, strict=True)]
    if again != places:
        return None
    w = [min(max(a, low), high) for a, (low, high) in zip(x, box.pairs, strict=True)]
    return np.array(w) if math.fsum(w) == total else fix_up(np.array(x), box)


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
