"""Distance from a weight vector to the nearest vertex of a region: exact where possible, else between two bounds."""

import math
from collections.abc import Callable

import attrs
import numpy as np

from andrea_core.errors import AndreaError
from andrea_core.simplex import vertices
from andrea_core.simplex.box import Box, exact_sum
from andrea_core.simplex.slices import Slice
from andrea_core.values import Vector

_ROUNDING = 1.0 - 2.0**-48


@attrs.frozen
class VertexDistance:
    """The Euclidean distance to the nearest vertex lies in [lower, upper]; when `exact`, both are that distance."""

    lower: float
    upper: float
    exact: bool


def to_vertex(w: Vector, region: Slice, box: Box, limit: int) -> VertexDistance:
    """Return the distance from w (K,) to the nearest vertex, with at most `limit` vertices enumerated.

    Where every width reaches the mass, as under floors alone, the region is a simplex itself: its nearest vertex is
    the one at the coordinate that is farthest from the corner.
    """
    free = region.columns
    if len(free) < 2:
        return _exact(_distance(w, box.lower))
    if bool((region.u >= region.mass).all()):
        offset = box.upper - w if region.mirrored else w - box.lower
        scores = np.zeros(len(w))
        scores[free[np.argmax(offset[free])]] = -1.0 if region.mirrored else 1.0
        return _exact(_distance(w, vertices.best(scores, box)))
    try:
        return among(w, vertices.every(box, limit))
    except AndreaError:
        return _between(w, box)


def among(w: Vector, corners: Vector) -> VertexDistance:
    """Return the distance from w (K,) to the nearest of all vertices (V, K)."""
    return _exact(min(_distance(w, corner) for corner in corners))


def seek(
    w: Vector,
    box: Box,
    every: Callable[[], Vector],
    vertex: Callable[[Vector], Vector],
    spared: Callable[[Vector], float],
    slack: float = 0.0,
) -> VertexDistance:
    """Return the distance from w (K,) to the nearest of all vertices, or bounds where `every` refuses to list them.

    `vertex` gives the best vertex for scores (K,); `spared` the most that coordinates off their bounds at a vertex can
    take off a sum over all coordinates (K,); vertices are right to `slack`.
    """
    try:
        return among(w, every())
    except AndreaError:
        lower = max(0.0, math.sqrt(max(0.0, _least(w, box, spared))) * _ROUNDING - slack)
        return VertexDistance(lower, max(lower, min(_distance(w, vertex(row)) for row in _rules(w, box))), False)


def _exact(distance: float) -> VertexDistance:
    return VertexDistance(distance, distance, True)


def _distance(w: Vector, vertex: Vector) -> float:
    return math.dist(w.tolist(), vertex.tolist())


def _between(w: Vector, box: Box) -> VertexDistance:
    """Bound the distance: every coordinate but one is at a bound (below), good vertices are near (above).

    The vertices tried fill the coordinates in the order of their offset, of its share of the width, of what moving up
    to the cap instead of down to the floor saves, in all and by mass, and of the offset from the centre.
    """
    lower = math.sqrt(max(0.0, _least(w, box, lambda least: float(least.max())))) * _ROUNDING
    return VertexDistance(lower, min(_distance(w, vertices.best(row, box)) for row in _rules(w, box)), False)


def _least(w: Vector, box: Box, spared: Callable[[Vector], float]) -> float:
    """Return the least squared distance of coordinates to their bounds, those that a vertex may spare left out."""
    nearer = np.minimum(np.abs(w - box.lower), np.abs(box.upper - w)) ** 2
    return math.fsum(nearer.tolist()) - spared(nearer)


def _rules(w: Vector, box: Box) -> Vector:
    """Return scores (rules, K) whose best vertices are near w."""
    free = box.free
    u, x = box.width[free], (w - box.lower)[free]
    scores = np.zeros((5, len(w)))
    scores[:, free] = (x, x / u, u * (2.0 * x - u), 2.0 * x - u, x - u * (box.above / exact_sum(u)))
    return scores
