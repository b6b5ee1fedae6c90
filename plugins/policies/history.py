"""History: what each source's loss was after how many tokens, bounded in size and even in the logarithm of tokens."""

import attrs
import numpy as np

from andrea_core import Vector
from andrea_plugins.policies.mixing import Integers

POINTS = 96
"""How many points a source's history holds; when it is full, the two closest ones become one."""


@attrs.frozen(eq=False)
class History:
    """Points of every source, in the order of their counts; the first `used` of each row hold numbers."""

    count: Vector  # (K, POINTS) ln of the tokens trained before the middle of a phase
    loss: Vector  # (K, POINTS) ln of the mean loss, nats a token
    mass: Vector  # (K, POINTS) tokens that a point stands for
    used: Integers  # (K,)

    @classmethod
    def empty(cls, sources: int) -> "History":
        """Return no points."""
        nothing = np.zeros((sources, POINTS))
        return cls(nothing, nothing, nothing, np.zeros(sources, np.int64))

    def appended(self, count: Vector, loss: Vector, tokens: Vector) -> "History":
        """Return the history with a point for each source whose loss (K,) is above 0 and not NaN.

        `count` (K,) are tokens, at least 1, growing from phase to phase; `tokens` (K,) how many the point stands for.
        """
        known = np.flatnonzero(loss > 0)
        roomy = self._thinned(known[self.used[known] == POINTS])
        place = known, roomy.used[known]
        counts, losses, mass, used = roomy.count.copy(), roomy.loss.copy(), roomy.mass.copy(), roomy.used.copy()
        counts[place], losses[place], mass[place] = np.log(count[known]), np.log(loss[known]), tokens[known]
        used[known] += 1
        return History(counts, losses, mass, used)

    def _thinned(self, rows: Integers) -> "History":
        """Return the history with one point fewer in the given full rows: the closest two in ln tokens are averaged."""
        if not len(rows):
            return self
        first = np.argmin(np.diff(self.count[rows], axis=1), axis=1)
        pair = first[:, None] + np.arange(2)
        mass = np.take_along_axis(self.mass[rows], pair, 1)
        merged = [
            (np.take_along_axis(array[rows], pair, 1) * mass).sum(1) / mass.sum(1) for array in (self.count, self.loss)
        ]
        places = np.arange(POINTS)[None] + (np.arange(POINTS)[None] > first[:, None])
        places = np.minimum(places, POINTS - 1)
        changed = []
        for array, new in zip((self.count, self.loss, self.mass), (*merged, mass.sum(1)), strict=True):
            moved = np.take_along_axis(array[rows], places, 1)
            moved[np.arange(len(rows)), first] = new
            whole = array.copy()
            whole[rows] = moved
            changed.append(whole)
        used = self.used.copy()
        used[rows] -= 1
        return History(changed[0], changed[1], changed[2], used)
