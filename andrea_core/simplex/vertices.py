"""Vertices: the best one for a linear score by greedy filling, and all of them by walking along edges."""

import math
from collections.abc import Iterator

import attrs
import numpy as np

from andrea_core.errors import AndreaError
from andrea_core.simplex.box import PINNED, Box, residual
from andrea_core.simplex.fixup import fix_up
from andrea_core.values import Integers, Vector

LOW, HIGH, FRACTION = 0, 1, 2


def best(scores: Vector, box: Box) -> Vector:
    """Return the vertex (K,) that maximises the sum of scores * w.

    Greedy filling in score order is exact here (Dantzig's fractional knapsack). Ties go to the smaller index. Scores of
    -inf and +inf rank last and first; among equal infinities ties go by index as well.
    """
    order = np.argsort(-scores, kind="stable")
    w = box.lower.copy()
    if box.is_point:
        return w
    k = int(np.searchsorted(np.cumsum(box.width[order]), box.above))
    k = min(k, len(order) - 1)
    w[order[:k]] = box.upper[order[:k]]
    return _balance(w, order, k, box)


def _balance(w: Vector, order: Integers, k: int, box: Box) -> Vector:
    """Give the k-th coordinate in order what is missing to the exact sum; move on where it hits a bound by rounding."""
    for _ in range(len(order)):
        j = order[k]
        w[j] = 0.0
        rest = residual(box.total, w)
        w[j] = min(max(rest, box.lower[j]), box.upper[j])
        if rest > box.upper[j] and k + 1 < len(order) and residual(box.total, w) > 2.0**-54:
            k += 1
        elif rest < box.lower[j] and k > 0 and residual(box.total, w) < -(2.0**-53):
            k -= 1
        else:
            break
    return w


def best_rows(scores: Vector, box: Box) -> Vector:
    """Return the best vertex for each row of scores (N, K)."""
    return np.array([best(row, box) for row in scores]).reshape(scores.shape)


@attrs.frozen
class _Corner:
    """A vertex by its pattern: which coordinates are low, high, and which one (if any) lies between."""

    pattern: bytes
    between: int | None


def every(box: Box, limit: int) -> Vector:
    """Return all vertices (V, K), lexicographically falling; raises AndreaError when there are more than `limit`.

    Walks the edges, exchanges between two coordinates, so that the work is in proportion to the vertices found.
    """
    start = _corner(best(np.zeros(len(box.lower)), box), box)
    seen, waiting = {start.pattern: start}, [start]
    while waiting:
        for corner in _neighbours(waiting.pop(), box):
            if corner.pattern not in seen:
                seen[corner.pattern] = corner
                waiting.append(corner)
                if len(seen) > limit:
                    raise AndreaError(
                        f"the region has more than {limit} vertices; raise the limit or use vertex(scores)"
                    )
    rows = np.array([_point(corner, box) for corner in seen.values()])
    return rows[np.lexsort(-rows.T[::-1])]


def _corner(w: Vector, box: Box) -> _Corner:
    pattern = np.where(box.upper - w <= PINNED, HIGH, LOW).astype(np.uint8)
    inner = np.flatnonzero((w - box.lower > PINNED) & (box.upper - w > PINNED))
    pattern[~box.is_free] = LOW
    pattern[inner] = FRACTION
    return _Corner(pattern.tobytes(), int(inner[0]) if len(inner) else None)


def _point(corner: _Corner, box: Box) -> Vector:
    """Return the weights of a vertex, the fraction as the exact remainder."""
    pattern = np.frombuffer(corner.pattern, dtype=np.uint8)
    w = np.where(pattern == HIGH, box.upper, box.lower)
    # A vertex without a fraction misses the sum by rounding at most: the last free coordinate that can takes it.
    order = box.free if corner.between is None else np.array([corner.between])
    for j in order[::-1]:
        if math.fsum(w.tolist()) == box.total:
            break
        w[j] = 0.0
        w[j] = min(max(residual(box.total, w), box.lower[j]), box.upper[j])
    return fix_up(w, box)  # widths of a few units of rounding: that coordinate alone may not have the room


def _neighbours(corner: _Corner, box: Box) -> Iterator[_Corner]:
    """Yield the vertices at the other ends of the edges of a vertex."""
    pattern = np.frombuffer(corner.pattern, dtype=np.uint8)
    low = [int(j) for j in box.free if pattern[j] == LOW]
    high = [int(j) for j in box.free if pattern[j] == HIGH]
    if corner.between is None:
        yield from (_exchange(corner, i, j, float(box.width[i]), float(box.width[j])) for i in low for j in high)
        return
    f = corner.between
    inside = float(_point(corner, box)[f])
    filled, empty = inside - float(box.lower[f]), float(box.upper[f]) - inside
    yield from (_exchange(corner, j, f, float(box.width[j]), filled) for j in low)
    yield from (_exchange(corner, f, j, empty, float(box.width[j])) for j in high)


def _exchange(corner: _Corner, up: int, down: int, room: float, stock: float) -> _Corner:
    """Move mass from `down` to `up` until one of them meets its bound; the other is the new fraction, if any."""
    pattern = bytearray(corner.pattern)
    pattern[up] = HIGH if room <= stock + PINNED else FRACTION
    pattern[down] = LOW if stock <= room + PINNED else FRACTION
    between = up if pattern[up] == FRACTION else down if pattern[down] == FRACTION else None
    return _Corner(bytes(pattern), between)
