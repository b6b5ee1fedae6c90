"""Reservoir: an even sample of all numbers so far, bounded in size, and their rescaling by its quantiles."""

import attrs
import numpy as np

from andrea_core import Vector

CAPACITY = 1024
"""How many numbers a reservoir holds at most: the quantiles' standard error is then near one per cent."""


@attrs.frozen(eq=False)
class Reservoir:
    """Every `stride`-th of the `offered` numbers: the first `held` entries of `values`, (CAPACITY,)."""

    values: Vector
    held: int
    offered: int
    stride: int

    @classmethod
    def empty(cls) -> "Reservoir":
        """Return a reservoir of nothing."""
        return cls(np.zeros(CAPACITY), 0, 0, 1)

    def offer(self, numbers: Vector) -> "Reservoir":
        """Return the reservoir with the numbers taken in, smallest first, so that the order of sources is no matter.

        When it is full every second number is dropped and half as many are taken from then on: at any time an even
        sample of all that were offered, without random draws.
        """
        places = np.arange(self.offered, self.offered + len(numbers))
        kept = np.concatenate([self.values[: self.held], np.sort(numbers)[places % self.stride == 0]])
        stride = self.stride
        while len(kept) > CAPACITY:
            kept, stride = kept[::2], 2 * stride
        values = np.zeros(CAPACITY)
        values[: len(kept)] = kept
        return Reservoir(values, len(kept), self.offered + len(numbers), stride)

    def rescaled(self, numbers: Vector, low: float, high: float) -> Vector:
        """Return numbers mapped so that the quantiles `low` and `high` become -1 and 1, and clipped there.

        While the two quantiles are equal, a number is -1, 0 or 1: under, at or over them. 0 for all when it is empty.
        """
        if not self.held:
            return np.zeros(len(numbers))
        bottom, top = np.quantile(self.values[: self.held], [low, high])
        if not top > bottom:
            side: Vector = np.sign(numbers - bottom)
            return side
        mapped: Vector = np.clip(2.0 * ((numbers - bottom) / (top - bottom)) - 1.0, -1.0, 1.0)
        return mapped
