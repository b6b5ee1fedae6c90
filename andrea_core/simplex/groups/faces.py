"""Faces of a region with group bounds: which group bounds are met, the dimension of a face, all vertices."""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from andrea_core.errors import AndreaError
from andrea_core.simplex import vertices
from andrea_core.simplex.box import PINNED, Box, exact_sum, frozen, residual
from andrea_core.simplex.groups.box import Groups, Part, tighten
from andrea_core.values import Integers, Mask, Vector

_DIGITS = 12
"""Vertices that agree to this many digits are one."""


def met(w: Vector, groups: Groups) -> tuple[Mask, Mask]:
    """Return which parts have their total at the low and at the high edge (G,), within rounding."""
    totals = [exact_sum(w[part.members]) for part in groups.parts]
    low = [total <= part.low + PINNED for total, part in zip(totals, groups.parts, strict=True)]
    high = [total >= part.high - PINNED for total, part in zip(totals, groups.parts, strict=True)]
    return np.array(low), np.array(high)


def dimension(w: Vector, groups: Groups) -> int:
    """Return the dimension of the smallest face that holds w (K,).

    The sources off their bounds, by more than rounding, can move, less one for each group whose total is fixed at an
    edge, and less one for the sum of all unless those groups already fix it.
    """
    inner = (w - groups.box.lower > PINNED) & (groups.box.upper - w > PINNED)
    fixed = np.logical_or(*met(w, groups))
    counts = [int(np.count_nonzero(inner[part.members])) for part in groups.parts]
    bound = sum(max(count - 1, 0) for count, tied in zip(counts, fixed, strict=True) if tied)
    return bound + max(sum(count for count, tied in zip(counts, fixed, strict=True) if not tied) - 1, 0)


def every(groups: Groups, limit: int) -> Vector:
    """Return all vertices (V, K), in falling lexicographic order; raises AndreaError when there are more than `limit`.

    At a vertex each part is at an edge of its window, where it is a vertex of its slice, or loose; the loose ones are a
    vertex of their common slice whose totals lie in their windows. All choices of edges are gone through.
    """
    if groups.box.is_point:
        return np.array([groups.box.lower])
    found: dict[tuple[float, ...], Vector] = {}
    for tried, choice in enumerate(itertools.product(*(_edges(part) for part in groups.parts)), 1):
        for w in _vertices(groups, choice, limit):
            found.setdefault(tuple((np.round(w, _DIGITS) + 0.0).tolist()), w)
        if max(len(found), tried) > limit:
            raise AndreaError(f"the region has more than {limit} vertices; raise the limit or use vertex(scores)")
    rows = np.array([groups.settle(w) for w in found.values()])
    return rows[np.lexsort(-rows.T[::-1])]


def _edges(part: Part) -> tuple[float | None, ...]:
    """Return the totals at which a part may be fixed, and None for loose."""
    if part.is_pinned:
        return (part.low,)
    return (None, part.low, part.high) if math.isfinite(part.at_least) else (None,)


def _vertices(groups: Groups, choice: tuple[float | None, ...], limit: int) -> Iterator[Vector]:
    """Yield the vertices with the given totals of fixed parts."""
    pairs = list(zip(groups.parts, choice, strict=True))
    fixed = [(part.members, total) for part, total in pairs if total is not None]
    loose = [part for part, total in pairs if total is None]
    left = residual(groups.box.total, np.array([total for _, total in fixed]))
    if loose:
        fixed.append((np.concatenate([part.members for part in loose]), left))
    elif abs(left) > PINNED:
        return
    slices = []
    for members, total in fixed:
        rows = _slice(groups, members, total, limit)
        if rows is None:
            return
        slices.append((members, rows))
    if math.prod(len(rows) for _, rows in slices) > 4 * limit:
        raise AndreaError(f"the region has more than {limit} vertices; raise the limit or use vertex(scores)")
    for combination in itertools.product(*(rows for _, rows in slices)):
        w = np.empty_like(groups.box.lower)
        for (members, _), row in zip(slices, combination, strict=True):
            w[members] = row
        if all(part.low - PINNED <= w[part.members].sum() <= part.high + PINNED for part in loose):
            yield w


def _slice(groups: Groups, members: Integers, total: float, limit: int) -> Vector | None:
    """Return the vertices of the slice of some sources at a total, None for an empty one."""
    box = groups.cut(members, total)
    if box.above < -PINNED or box.below < -PINNED:
        return None
    lower, upper = tighten(groups.box, members, total, total)
    tight = Box(frozen(lower), frozen(upper), total)
    return np.array([tight.lower]) if len(tight.free) < 2 else vertices.every(tight, limit)
