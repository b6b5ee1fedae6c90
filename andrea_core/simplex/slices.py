"""A region seen from one of its corners: the slice of a box where the offsets share a given mass."""

import math
from functools import cached_property

import attrs
import numpy as np

from andrea_core.simplex import tilt
from andrea_core.simplex.bounds import Bounds
from andrea_core.simplex.box import Box, residual, seal
from andrea_core.values import Integers, Vector

_PASSES = 4
_LEAST_TILT = 0.1
"""The least tilt, in standard deviations: it keeps the poles of the tilted means off the real axis."""


@attrs.frozen(eq=False, slots=False)
class Slice:
    """The set { x : sum x = mass, 0 <= x <= u } of offsets x (m,) of the free coordinates from a corner of the region.

    `columns` (m,) are their places among the sources; `lower` and `upper` (m,) their bounds as stated, `pinned` the
    values of all other coordinates. Offsets count upwards from `corner` (m,), or downwards when `mirrored`; of the two
    sides the one with less mass is taken. `corner` and `u` are both tightened by what the mass implies, apart from one
    another, so that u keeps its digits where the mass is far smaller than the bounds.
    """

    columns: Integers
    lower: Vector
    upper: Vector
    pinned: Vector
    corner: Vector
    u: Vector
    mass: float
    mirrored: bool

    def __attrs_post_init__(self) -> None:
        seal(self.columns, self.lower, self.upper, self.pinned, self.corner, self.u)

    @classmethod
    def of(cls, stated: Bounds, box: Box) -> "Slice":
        """Return the slice of a region, without coordinates when the region is a point.

        Bounds on sums of sources, which may cut it further, are not looked at.
        """
        columns = box.free if not box.is_point else box.free[:0]
        lower, upper, pinned = stated.lower[columns], stated.upper[columns], np.delete(box.lower, columns)
        above = residual(box.total, np.concatenate([lower, pinned]))
        below = -residual(box.total, np.concatenate([upper, pinned]))
        u, mass, mirrored = tightened(upper - lower, above, below)
        corner = (box.upper if mirrored else box.lower)[columns]
        return cls(columns, lower, upper, pinned, corner, u, mass, mirrored)

    def weights(self, x: Vector) -> Vector:
        """Return the free coordinates (m,) at offsets x (m,), up to rounding."""
        return np.asarray(self.corner - x if self.mirrored else self.corner + x)

    @cached_property
    def theta(self) -> float:
        """The tilt under which the independent offsets meet the mass on average, but never quite none."""
        return steady(self.u, self.mass)


def steady(u: Vector, mass: float) -> float:
    """Return the tilt that meets the mass on average, or the least one that keeps the series away from poles."""
    theta = tilt.solve(u, mass)
    return max(theta, _LEAST_TILT / math.sqrt(float(tilt.variances(u, theta).sum())))


def tightened(width: Vector, above: float, below: float) -> tuple[Vector, float, bool]:
    """Return widths cut to the mass, the smaller of the two masses, and whether it is the one below the caps."""
    mirrored = below < above
    mass, u = min(above, below), np.minimum(width, min(above, below))
    for _ in range(_PASSES if len(u) else 0):
        other = -residual(mass, u)
        if not 0.0 < other < mass:
            break
        mass, mirrored = other, not mirrored
        u = np.minimum(u, mass)
    return u, mass, mirrored
