"""Numbers of a truth's file: how many, in which shape and between which bounds, so that every loss stays finite."""

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from andrea_core.errors import ScenarioError
from andrea_core.spelling import shown
from andrea_core.values import Vector


@attrs.frozen
class Bounds:
    """What a number may be: from `least` (beyond it, where `above`) to `most`."""

    least: float
    most: float
    above: bool = False

    def hold(self, values: Vector) -> Any:
        """Return which of the values lie inside; NaN does not."""
        return (values > self.least if self.above else values >= self.least) & (values <= self.most)

    def __str__(self) -> str:
        if self.least > 0:
            return f"finite and between {self.least:g} and {self.most:g}"
        return f"finite, {'greater than 0' if self.above else 'not negative'} and at most {self.most:g}"


BOUNDS = {
    "start": Bounds(0.0, 1e6),
    "floor": Bounds(0.0, 1e6),
    "noise": Bounds(0.0, 1e6),
    "exponent": Bounds(0.0, 10.0, above=True),
    "offset": Bounds(1e-6, 1e6),
    "size": Bounds(0.0, 1e9, above=True),
    "transfer": Bounds(0.0, 1e6),
    "unit": Bounds(1e-9, 1e9),
    "half_life": Bounds(0.0, 1e9, above=True),
}
"""By key. Inside them no loss, slope or progress leaves the range of floating-point numbers: losses are at most a
million nats, and offset^exponent and its inverse stay within 1e60."""


@attrs.frozen
class Numbers:
    """Reads the numbers of one truth; `where` names it in messages, `names` are the sources in the file's order."""

    where: str
    names: tuple[str, ...]

    def vector(self, value: Any, key: str) -> Vector:
        """Return a number for each source, (K,); one number stands for all. Raises ScenarioError."""
        found = self._array(value, (len(self.names),), key)
        odd = np.flatnonzero(~BOUNDS[key].hold(found))
        if len(odd):
            self._refuse(key, key, f"{found[odd[0]]} for source {self.names[odd[0]]!r}")
        return found

    def matrix(self, value: Any, place: str) -> Vector:
        """Return what each source teaches each other, (K, K). Raises ScenarioError."""
        found = self._array(value, (len(self.names),) * 2, place)
        odd = np.argwhere(~BOUNDS["transfer"].hold(found))
        if len(odd):
            row, column = odd[0].tolist()
            what = f"what {self.names[column]!r} teaches {self.names[row]!r}"
            self._refuse("transfer", f"{place}[{row}][{column}]", f"{found[row, column]} ({what})")
        return found

    def number(self, value: Any, place: str) -> float:
        """Return a number, inside the bounds of its key where it has some. Raises ScenarioError."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ScenarioError(f"the truth {self.where}: {place} must be a number, got {shown(value)}")
        try:
            found = float(value)
        except OverflowError:
            raise ScenarioError(f"the truth {self.where}: {place} is larger than any floating-point number") from None
        if place in BOUNDS and not BOUNDS[place].hold(np.array([found])).all():
            self._refuse(place, place, str(found))
        return found

    def _refuse(self, key: str, place: str, got: str) -> None:
        raise ScenarioError(f"the truth {self.where}: {place} must be {BOUNDS[key]}, got {got}")

    def _array(self, value: Any, shape: tuple[int, ...], place: str) -> Vector:
        wanted = f"the truth {self.where}: {place} must be {_words(shape)}"
        try:
            found = np.asarray(value, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ScenarioError(f"{wanted}, got {shown(value)}") from None
        if not _numeric(value):
            raise ScenarioError(f"{wanted}, got {shown(value)}")
        if found.ndim == 0 and len(shape) == 1:
            found = np.full(shape, found)
        if found.shape != shape:
            raise ScenarioError(f"{wanted}; {shown(value)} has the shape {found.shape}")
        return found


def square(value: Any) -> int | None:
    """Return the number of rows of a square matrix, None for anything else."""
    if not isinstance(value, list) or not value:
        return None
    fits = all(isinstance(row, list) and len(row) == len(value) for row in value)
    return len(value) if fits else None


def _numeric(value: Any) -> bool:
    """Return whether a tree of lists holds nothing but numbers: a text of digits is none."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return all(map(_numeric, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _words(shape: tuple[int, ...]) -> str:
    if len(shape) == 1:
        return f"{shape[0]} numbers, or one for all" if shape[0] > 1 else "1 number"
    return f"{shape[0]} rows of {shape[1]} numbers"


def retention(half_life: float, steps: int, where: str) -> float:
    """Return the factor by which progress shrinks in a step; raises ScenarioError for what forgets within one.

    A factor below 1e-9 is refused: sums of what is left would be divided by its powers.
    """
    kept = 0.5 ** min(1.0 / max(half_life * steps, 1e-300), 1e300)
    if kept < LEAST_KEPT:
        least = 1.01 * math.log(0.5) / math.log(LEAST_KEPT) / steps
        raise ScenarioError(
            f"the truth {where}: half_life {half_life} forgets everything within one step; it must be at least "
            f"{least:.2g} of this run's {steps:,} steps"
        )
    return float(kept)


LEAST_KEPT = 1e-9
"""The least part of all progress that a step may leave."""
