"""Tables of blocks: volume, mean and covariance read off polynomials in the total."""

import itertools
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import attrs
import numpy as np

from andrea_core.simplex.groups.blocks import BOTH, Values
from andrea_core.values import Vector

_COLUMNS = 24
_PIECES = 4
_MANY = 9


class Source(Protocol):
    """A block, a table of one, or two blocks as one: totals in [low, high] and the values at each."""

    @property
    def u(self) -> Vector:
        """Room (m,) of the sources."""

    @property
    def low(self) -> float:
        """The least total that matters."""

    @property
    def high(self) -> float:
        """The largest total that matters."""

    @property
    def knots(self) -> tuple[float, ...]:
        """Totals between these at which the volume has a kink."""

    @property
    def theta(self) -> float:
        """The tilt that all blocks share."""

    def at(self, totals: Vector, order: int) -> Values:
        """Return the values at each of the totals (N,)."""


def kinks_of(blocks: Sequence[Source]) -> list[float]:
    """Return the totals of several blocks at which their common volume has a kink, the ends included."""
    return [math.fsum(some) for some in itertools.product(*((one.low, one.high, *one.knots) for one in blocks))]


@attrs.frozen(eq=False, slots=False)
class Table:
    """A block read off polynomials through Chebyshev points, panel by panel between its kinks.

    Not the volume v of a slice but v**(1 / (m-1)) is a polynomial nearly: it is concave (Brunn and Minkowski), and
    straight where no upper bound is reached. Of two blocks together, windows in between, it is the tilted volume.
    """

    block: Source
    power: int
    edges: Vector
    points: tuple[Vector, ...]
    values: tuple[Values, ...]

    @classmethod
    def of(cls, block: Source, order: int, power: int) -> "Table":
        """Look up a block at some 20 totals a panel, its volume to be rooted by `power`."""
        kinks = [block.low, *block.knots, block.high]
        pieces = [np.linspace(a, b, max(1, _PIECES // (len(kinks) - 1)) + 1)[:-1] for a, b in itertools.pairwise(kinks)]
        edges = np.append(np.concatenate(pieces), block.high)
        columns = _COLUMNS if len(edges) <= _MANY else _COLUMNS // 2
        turns = np.cos((np.arange(columns) + 0.5) * math.pi / columns)
        points = tuple(0.5 * (a + b) + 0.5 * (b - a) * turns for a, b in itertools.pairwise(edges))
        return cls(block, max(power, 1), edges, points, tuple(block.at(some, order) for some in points))

    @property
    def u(self) -> Vector:
        """Room (m,) of the sources."""
        return self.block.u

    @property
    def low(self) -> float:
        """The least total that matters."""
        return self.block.low

    @property
    def high(self) -> float:
        """The largest total that matters."""
        return self.block.high

    @property
    def knots(self) -> tuple[float, ...]:
        """Totals at which the volume has a kink."""
        return self.block.knots

    @property
    def theta(self) -> float:
        """The tilt that all blocks share."""
        return self.block.theta

    @cached_property
    def error(self) -> float:
        """How far the table is off halfway between its points near the largest volume, twofold."""
        k = int(np.argmax([found.logs.max() for found in self.values]))
        near = int(np.argmax(self.values[k].logs))
        others = self.points[k][max(near - 1, 0)], self.points[k][min(near + 1, len(self.points[k]) - 1)]
        tried = np.array([0.5 * (self.points[k][near] + other) for other in others])
        return 2.0 * float(np.abs(self.at(tried, 0).logs - self.block.at(tried, 0).logs).max())

    def at(self, totals: Vector, order: int) -> Values:
        """Return the values of the slice at each of the totals (N,)."""
        m, power, theta = len(self.u), self.power, self.theta
        means = np.empty((len(totals), m if order else 0))
        pairs = np.empty((len(totals), m, m) if order == BOTH else (len(totals), 0, 0))
        logs = np.empty(len(totals))
        panel = np.clip(np.searchsorted(self.edges, totals, side="right") - 1, 0, len(self.points) - 1)
        for k in np.unique(panel):
            mine = panel == k
            found, turns = self.values[k], _weights(self.points[k], totals[mine])
            level = found.logs - theta * self.points[k] * (power == 1)
            peak = float(level.max())
            root = turns @ np.exp((level - peak) / power)
            logs[mine] = peak + power * np.log(np.maximum(root, 1e-300)) + theta * totals[mine] * (power == 1)
            if order:
                means[mine] = turns @ found.means
            if order == BOTH:
                pairs[mine] = np.tensordot(turns, found.pairs, 1)
        return Values(logs, means, pairs, max(found.error for found in self.values))


def _weights(points: Vector, places: Vector) -> Vector:
    """Return the matrix (N, points) that interpolates from Chebyshev points of the first kind (barycentric)."""
    count = len(points)
    signs = (-1.0) ** np.arange(count) * np.sin((np.arange(count) + 0.5) * math.pi / count)
    apart = places[:, None] - points
    exact = apart == 0.0
    terms = signs / np.where(exact, 1.0, apart)
    terms[exact.any(axis=1)] = 0.0
    terms[exact] = 1.0
    return np.asarray(terms / terms.sum(axis=1, keepdims=True))
