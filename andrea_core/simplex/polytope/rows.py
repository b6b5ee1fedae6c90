"""Rows: bounds on a linear combination of the weights, as stated, with their reasons."""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import attrs
import numpy as np

from andrea_core.errors import ScenarioError
from andrea_core.values import Vector


def _table(coefficients: Mapping[str, float]) -> Mapping[str, float]:
    return MappingProxyType({name: float(value) for name, value in coefficients.items()})


@attrs.frozen
class Row:
    """A bound on sum coefficient * weight over the named sources; a side left out does not bind.

    `Row({"a": 1, "b": -2}, at_most=0)` keeps the weight of a at or below twice that of b.
    """

    coefficients: Mapping[str, float] = attrs.field(converter=_table)
    at_least: float = attrs.field(default=-math.inf, converter=float)
    at_most: float = attrs.field(default=math.inf, converter=float)


@attrs.frozen
class StatedRow:
    """A row by the places of its sources, divided by `scale` so that the largest coefficient is 1 or -1."""

    members: tuple[int, ...]
    coefficients: tuple[float, ...]
    at_least: float
    at_most: float
    reason: str = ""
    scale: float = attrs.field(default=1.0, eq=False)

    def label(self, names: Sequence[str]) -> str:
        """Return the row's left side as it was stated, such as "a - 2 b"."""
        text = ""
        for i, value in zip(self.members, self.coefficients, strict=True):
            number = f"{abs(value) * self.scale:.12g}"
            size = "" if number == "1" else f"{number} "
            sign = (" - " if value < 0 else " + ") if text else ("-" if value < 0 else "")
            text += f"{sign}{size}{names[i]}"
        return text

    def dense(self, count: int) -> Vector:
        """Return the coefficients as a vector (K,)."""
        row = np.zeros(count)
        row[list(self.members)] = self.coefficients
        return row


def state_row(row: Row, reason: str, place: Callable[[str], int]) -> StatedRow:
    """Return a row with its sources by place; raises ScenarioError for one that says nothing or has odd numbers."""
    label = ", ".join(row.coefficients) or "no source"
    if not any(row.coefficients.values()):
        raise ScenarioError(f"the row of {label} needs at least one coefficient other than 0")
    if not all(math.isfinite(value) for value in row.coefficients.values()):
        raise ScenarioError(f"the coefficients of the row of {label} must be finite numbers")
    if math.isnan(row.at_least) or math.isnan(row.at_most):
        raise ScenarioError(f"the bounds of the row of {label} must be numbers")
    if math.isinf(row.at_least) and math.isinf(row.at_most):
        raise ScenarioError(f"the row of {label} bounds nothing; give it at_least or at_most")
    scale = max(abs(value) for value in row.coefficients.values())
    pairs = sorted((place(name), value / scale) for name, value in row.coefficients.items() if value)
    members, coefficients = zip(*pairs, strict=True)
    return StatedRow(members, coefficients, row.at_least / scale, row.at_most / scale, reason, scale)
