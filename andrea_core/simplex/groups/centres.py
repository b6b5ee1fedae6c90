"""The two centres of a region with group bounds: equal relative slack, and the middle of a largest inscribed ball."""

import math

import numpy as np

from andrea_core.simplex.box import exact_sum, residual, sealed
from andrea_core.simplex.groups.box import Groups, Part
from andrea_core.values import Vector

_HALVINGS = 200
_IMPLIED = 2.0**-46


def relative(groups: Groups) -> Vector:
    """Return a point of the relative interior: totals with equal relative slack, then weights with it in each part."""
    if groups.box.is_point:
        return groups.box.lower
    groups = _without_idle(groups)
    lows, highs = _windows(groups)
    return sealed(groups.settle(_spread(groups, groups.box.lower, groups.box.upper, lows, highs)))


def _without_idle(groups: Groups) -> Groups:
    """Return the set with groups whose bounds the sources' bounds alone imply put together with the other sources."""
    box, parts = groups.box, groups.parts
    floors, caps = (np.array([_total(side, part) for part in parts]) for side in (box.lower, box.upper))
    least = np.maximum(floors, caps - max(-residual(box.total, box.upper), 0.0))
    most = np.minimum(caps, floors + max(residual(box.total, box.lower), 0.0))
    idle = [
        part.at_least <= low + _IMPLIED and part.at_most >= high - _IMPLIED and not part.is_pinned
        for part, low, high in zip(parts, least, most, strict=True)
    ]
    if sum(idle) < 2:
        return groups
    kept = [part for part, alone in zip(parts, idle, strict=True) if not alone]
    members = np.sort(np.concatenate([part.members for part, alone in zip(parts, idle, strict=True) if alone]))
    rest = [residual(box.total, np.array([getattr(part, side) for part in kept])) for side in ("high", "low")]
    low, high = max(exact_sum(box.lower[members]), rest[0]), min(exact_sum(box.upper[members]), rest[1])
    return Groups(box, (*kept, Part(members, low, max(low, high))))


def _windows(groups: Groups) -> tuple[Vector, Vector]:
    return np.array([part.low for part in groups.parts]), np.array([part.high for part in groups.parts])


def _spread(groups: Groups, lower: Vector, upper: Vector, lows: Vector, highs: Vector) -> Vector:
    """Return lower + share * width with one share among the totals and one in each part."""
    totals = lows + _share(residual(groups.box.total, lows), highs - lows) * (highs - lows)
    w = lower.copy()
    for part, total in zip(groups.parts, totals.tolist(), strict=True):
        width = upper[part.members] - lower[part.members]
        w[part.members] += _share(residual(total, lower[part.members]), width) * width
    return w


def _share(mass: float, width: Vector) -> float:
    whole = exact_sum(width)
    return min(max(mass / whole, 0.0), 1.0) if whole > 0.0 else 0.0


def chebyshev(groups: Groups) -> tuple[Vector, float]:
    """Return the centre (K,) and the radius of a largest ball inside the set, within its affine hull.

    Along the hull, a unit step changes the weight of a source by sqrt(1 - 1/m) at most, m the number of sources that
    share a sum with it, and the total of k of these by sqrt(k (1 - k/m)). Whether a radius fits is the closed-form rule
    of feasibility for the bounds moved in by so much; halving finds the largest.
    """
    if groups.box.is_point:
        return groups.box.lower, 0.0
    sides = _speeds(groups)
    radius, too_much = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (radius + too_much)
        if middle in (radius, too_much):
            break
        radius, too_much = (middle, too_much) if _shrunk(groups, *sides, middle) else (radius, middle)
    fitting = _shrunk(groups, *sides, radius)
    if fitting is None:
        return relative(groups), 0.0
    return groups.settle(_spread(groups, *fitting)), radius


def _speeds(groups: Groups) -> tuple[Vector, Vector]:
    """Return how fast each weight (K,) and each part's total (G,) can change along the hull."""
    weights, totals = np.zeros(len(groups.box.lower)), np.zeros(len(groups.parts))
    shared = sum(len(groups.free(part.members)) for part in groups.loose)
    for k, part in enumerate(groups.parts):
        free = groups.free(part.members)
        m = len(free) if part.is_pinned else shared
        if m:
            weights[free] = math.sqrt(1.0 - 1.0 / m)
            totals[k] = 0.0 if part.is_pinned else math.sqrt(len(free) * max(1.0 - len(free) / m, 0.0))
    return weights, totals


def _shrunk(
    groups: Groups, weights: Vector, totals: Vector, radius: float
) -> tuple[Vector, Vector, Vector, Vector] | None:
    """Return the bounds and windows moved in by a radius, or None when nothing fits between them."""
    lower, upper = groups.box.lower + radius * weights, groups.box.upper - radius * weights
    if (lower > upper).any():
        return None
    lows, highs = _windows(groups)
    floors, caps = (np.array([_total(side, part) for part in groups.parts]) for side in (lower, upper))
    bounded = np.array([math.isfinite(part.at_least) for part in groups.parts])
    lows = np.where(totals > 0, np.maximum(np.where(bounded, lows + radius * totals, 0.0), floors), lows)
    highs = np.where(totals > 0, np.minimum(np.where(bounded, highs - radius * totals, 1.0), caps), highs)
    nested = bool((floors <= highs).all() and (lows <= caps).all() and (lows <= highs).all())
    fits = nested and exact_sum(lows) <= groups.box.total <= exact_sum(highs)
    return (lower, upper, lows, highs) if fits else None


def _total(side: Vector, part: Part) -> float:
    return exact_sum(side[part.members])
