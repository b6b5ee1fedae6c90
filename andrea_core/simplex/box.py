"""The numbers of a region: effective bounds, the masses above and below them, which coordinates are free."""

import math
from functools import cached_property
from typing import Any, TypeVar

import attrs
import numpy as np
import numpy.typing as npt

from andrea_core.values import Integers, Mask, Vector

Kept = TypeVar("Kept", bound=npt.NDArray[Any])
Fence = tuple[float, float, float, float, float, float]
MARGIN = 2.0**-40
"""How far from a bound a number has to be for the side on which it lies to be beyond doubt."""
PINNED = 2.0**-50
"""A width at or below this counts as none for dimension, vertices and sampling; bounds still hold bitwise."""


def frozen(values: npt.ArrayLike) -> Vector:
    """Return a read-only float64 copy without negative zeros."""
    array = np.array(values, dtype=np.float64) + 0.0
    array.setflags(write=False)
    return array


def sealed(array: Kept) -> Kept:
    """Return the array itself, read-only from now on: what is kept must not change under those it is handed to."""
    array.setflags(write=False)
    return array


def seal(*arrays: npt.NDArray[Any]) -> None:
    """Make arrays read-only."""
    for array in arrays:
        array.setflags(write=False)


def exact_sum(values: Vector) -> float:
    """Return the correctly rounded sum of (K,) numbers; `fsum` on a list is twice as fast as on an array."""
    return math.fsum(values.tolist())


def residual(total: float, values: Vector) -> float:
    """Return the correctly rounded `total - sum(values)`, without the cancellation of the two-step form."""
    return math.fsum([total, *(-values).tolist()])


@attrs.frozen(eq=False, slots=False)
class Box:
    """The set { w : sum w = total, lower <= w <= upper } with tightened bounds (K,), never empty.

    `total` is 1.0, or the nearest sum that the bounds allow when the set is a point within rounding. `is_point` says
    that the set holds one weight vector only; `lower` and `upper` are then that vector.
    """

    lower: Vector
    upper: Vector
    total: float = 1.0
    is_point: bool = False

    def __attrs_post_init__(self) -> None:
        seal(self.lower, self.upper)

    @cached_property
    def width(self) -> Vector:
        """(K,) upper - lower."""
        return sealed(self.upper - self.lower)

    @cached_property
    def ones(self) -> Vector:
        """(K,) of ones: a dot product with it sums faster than a sum."""
        return sealed(np.ones_like(self.lower))

    @cached_property
    def pairs(self) -> list[tuple[float, float]]:
        """The bounds of each coordinate, as plain numbers."""
        return list(zip(self.lower.tolist(), self.upper.tolist(), strict=True))

    @cached_property
    def walls(self) -> Vector:
        """(4, K) lower - MARGIN, upper - MARGIN, lower + MARGIN, upper + MARGIN: on both sides of each bound.

        A number that lies above as many of the first two as of the last two is farther than MARGIN from both bounds.
        The walls of a coordinate whose bounds are equal are infinite: on which side of them a number lies is no matter.
        """
        bounds = np.stack([self.lower, self.upper])
        walls = np.concatenate([bounds - MARGIN, bounds + MARGIN])
        walls[:, self.lower == self.upper] = np.inf
        return sealed(walls)

    @cached_property
    def fences(self) -> list[Fence]:
        """The walls of each coordinate, those of the lower bound first, and its bounds, as plain numbers."""
        nowhere = (math.inf,) * 4
        return [
            (low - MARGIN, low + MARGIN, high - MARGIN, high + MARGIN, low, high)
            if low < high
            else (*nowhere, low, high)
            for low, high in self.pairs
        ]

    @cached_property
    def half_units(self) -> tuple[float, float]:
        """How far an exact sum may be off `total`, below (negative) and above, and surely rounds to it."""
        total = self.total
        return 0.5 * (math.nextafter(total, 0.0) - total), 0.5 * (math.nextafter(total, 2.0) - total)

    @cached_property
    def free(self) -> Integers:
        """Indices of the coordinates that can move."""
        return sealed(np.flatnonzero(self.width > PINNED))

    @cached_property
    def is_free(self) -> Mask:
        """(K,) True for the coordinates that can move."""
        return sealed(np.asarray(self.width > PINNED))

    @cached_property
    def above(self) -> float:
        """The mass above the lower bounds: R = total - sum(lower)."""
        return residual(self.total, self.lower)

    @cached_property
    def below(self) -> float:
        """The slack below the upper bounds: R' = sum(upper) - total."""
        return -residual(self.total, self.upper)

    @property
    def dimension(self) -> int:
        """Dimension of the set: free coordinates less one, 0 for a point."""
        return 0 if self.is_point else len(self.free) - 1

    def clip(self, w: Vector) -> Vector:
        """Return w (..., K) moved into the bounds one by one, negative zeros removed; sums are not kept."""
        clipped: Vector = np.minimum(np.maximum(w, self.lower), self.upper) + 0.0
        return clipped

    def holds(self, w: Vector) -> bool:
        """Return whether w (K,) is legal: bounds bitwise, no negative zero, exact sum equal to `total`."""
        count = len(w)  # counting is several times quicker than `all`
        inside = np.count_nonzero(w >= self.lower) == count and np.count_nonzero(w <= self.upper) == count
        return inside and not np.count_nonzero(np.signbit(w)) and exact_sum(w) == self.total
