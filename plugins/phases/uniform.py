"""Uniform: phase lengths drawn evenly between two bounds, 7 to 42 steps as in ANDREA."""

from typing import Any

import attrs
import numpy as np

from andrea_core import Context, number


def _at_least_low(lengths: "Uniform", _attribute: "attrs.Attribute[Any]", high: int) -> None:
    if high < lengths.low:
        raise ValueError(f"high must be at least low ({lengths.low}), got {high}")


@attrs.frozen
class Uniform:
    """Draw each length as a whole number, `low` and `high` included, all equally likely.

    Source: ANDREA reshuffles its weights every 7 to 42 steps; the law between the ends is not published, so even odds
    are this project's choice. Lengths are no step spans: a scenario's `scale` leaves them alone.
    """

    low: int = number(default=7, at_least=1)
    high: int = attrs.field(default=42, validator=_at_least_low)

    def length(self, context: Context, rng: np.random.Generator) -> int:
        """Return the number of steps of the next phase."""
        return int(rng.integers(self.low, self.high, endpoint=True))
