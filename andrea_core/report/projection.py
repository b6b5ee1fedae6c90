"""Fixed linear projections of the simplex to the plane, and the exact shadow that a region casts there."""

import math
from collections.abc import Sequence

import attrs
import numpy as np

from andrea_core.errors import AndreaError
from andrea_core.report.timeline import Floats
from andrea_core.simplex import Region
from andrea_core.values import Vector


@attrs.frozen(eq=False)
class Plane:
    """A linear map of weights to the plane: `(w - origin) @ axes.T`, with `axes` (2, K).

    `explained` (2,) is the share of the walk's variance that each axis shows; NaN when the axes are not made from it.
    """

    name: str
    origin: Vector
    axes: Vector
    explained: Vector

    def project(self, points: Floats) -> Vector:
        """Return the places (n, 2) of points (n, K)."""
        return (np.asarray(points, np.float64) - self.origin) @ self.axes.T

    def corners(self) -> Vector:
        """(K, 2) the places of the pure sources."""
        return self.project(np.eye(len(self.origin)))


def principal(weights: Floats) -> Plane | None:
    """Return the orthogonal projection on the two directions in which the weights (n, K) vary most (PCA).

    None when they do not vary. The sign of each axis is fixed: its largest entry is positive.
    """
    origin = weights.mean(axis=0)
    _, sizes, directions = np.linalg.svd(weights - origin, full_matrices=False)
    if len(sizes) < 2 or sizes[0] < 1e-9:
        return None
    axes = directions[:2] * np.sign(directions[:2][[0, 1], np.abs(directions[:2]).argmax(axis=1)])[:, None]
    explained = sizes[:2] ** 2 / (sizes**2).sum()
    return Plane("Principal plane", origin, axes, explained)


def polygon(count: int) -> Plane:
    """Return the projection that sends source k to corner k of a regular polygon: a mix lies at its centre of mass.

    For K >= 3 the axes are orthogonal and of equal length: an orthogonal projection, scaled.
    """
    turns = math.pi / 2 - 2 * math.pi * np.arange(count) / max(count, 1)
    return Plane("Polygon", np.zeros(count), np.array([np.cos(turns), np.sin(turns)]), np.full(2, np.nan))


def region_of(sources: Sequence[str], lower: Floats, upper: Floats) -> Region | None:
    """Return the region of the smallest box that holds all the bounds (n, K); None when no weights fit in it."""
    least, most = np.clip(lower.min(axis=0), 0, 1).tolist(), np.clip(upper.max(axis=0), 0, 1).tolist()
    names = [str(k) for k in range(len(sources))]  # two sources may never share a name here, whatever the record says
    shut = [name for name, cap in zip(names, most, strict=True) if cap == 0]
    floors = {name: floor for name, floor in zip(names, least, strict=True) if floor > 0}
    caps = {name: cap for name, cap in zip(names, most, strict=True) if 0 < cap < 1}
    try:
        return Region.of(names, floors=floors, caps=caps, exclude=shut)
    except AndreaError:
        return None


def shadow(region: Region, plane: Plane, directions: int = 180) -> Vector:
    """Return the closed outline (m, 2) of the region's image: its farthest vertex in each of many directions.

    Each point is the image of a vertex of the region, so that the outline never leaves the true one; with 180
    directions it misses only corners that turn by less than 2 degrees.
    """
    turns = 2 * math.pi * np.arange(directions) / directions
    scores = np.column_stack([np.cos(turns), np.sin(turns)]) @ plane.axes
    places = plane.project(region.vertex(scores))
    kept = np.abs(places - np.roll(places, 1, axis=0)).max(axis=1) > 1e-9
    outline = places[kept] if kept.any() else places[:1]
    return np.concatenate([outline, outline[:1]])
