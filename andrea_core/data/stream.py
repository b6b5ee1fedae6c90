"""One source as an endless stream of packed documents: every epoch in its own order, any position readable at once."""

from typing import Any

import numpy as np
import numpy.typing as npt

from andrea_core.rng import generator
from andrea_core.values import Integers

Tokens = npt.NDArray[np.integer[Any]]


class PackedStream:
    """The documents of a source, each behind a separator, epoch after epoch, cut into rows of `context` tokens.

    The order of an epoch is a pure function of (seed, source, epoch) and a position is an integer, so there is no
    state to save. Row r covers the stream's tokens [r * context, (r + 1) * context], the last of which is the first of
    row r + 1: every token is a target exactly once an epoch, and nothing is dropped at an epoch's end.
    """

    def __init__(self, name: str, tokens: Tokens, offsets: Integers, *, separator: int, context: int, seed: int):
        self._name, self._tokens, self._separator = name, tokens, separator
        self._context, self._seed = context, seed
        self._starts = np.asarray(offsets[:-1], np.int64)
        self._lengths = np.diff(offsets).astype(np.int64) + 1  # the separator in front counts
        self.epoch_tokens = int(self._lengths.sum())
        self._epoch = -1
        self._order = self._ends = np.empty(0, np.int64)

    def row(self, position: int) -> Integers:
        """Return the (context + 1,) tokens of row `position`, counted from the start of training."""
        out = np.empty(self._context + 1, np.int64)
        at, filled = position * self._context, 0
        while filled < len(out):
            filled += self._fill(out[filled:], at + filled)
        return out

    def epochs(self, rows: int) -> float:
        """Return how often `rows` rows pass over the source."""
        return rows * self._context / self.epoch_tokens

    def _fill(self, out: Integers, at: int) -> int:
        """Copy from the document at stream position `at`; return the number of tokens copied."""
        epoch, offset = divmod(at, self.epoch_tokens)
        self._enter(epoch)
        place = int(np.searchsorted(self._ends, offset, side="right"))
        document = self._order[place]
        inside = offset - (int(self._ends[place]) - int(self._lengths[document]))
        count = min(len(out), int(self._lengths[document]) - inside)
        first = 0
        if inside == 0:
            out[0] = self._separator
            first = 1
        start = int(self._starts[document]) + inside + first - 1
        out[first:count] = self._tokens[start : start + count - first]
        return count

    def _enter(self, epoch: int) -> None:
        if epoch != self._epoch:
            self._epoch = epoch
            self._order = generator(self._seed, "order", self._name, epoch).permutation(len(self._lengths))
            self._ends = np.cumsum(self._lengths[self._order])
