"""Volume and moments of blocks that share a mass: quadrature over their totals, the first block's outermost."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import attrs
import numpy as np

from andrea_core.simplex.groups.blocks import BOTH, Block, Values, apart
from andrea_core.simplex.groups.tables import Source, Table, kinks_of
from andrea_core.values import Vector

NODES = 16
PANELS = 4
"""Nodes of a panel, and how many panels at least, of the Gauss and Legendre rule."""
FINER = 22
"""Nodes of a panel of the rule that checks the other."""
MANY = 10
"""With more panels than this, half of the nodes will do in each."""


class Result(NamedTuple):
    """Log volume, mean (m,), covariance (m, m) and the error of the log; columns in the order of the blocks."""

    log: float
    mean: Vector
    pairs: Vector
    error: float


def volume(blocks: Sequence[Block], mass: float) -> tuple[float, float]:
    """Return the log volume of all totals that sum to the mass, and its error: of the rule, slices and edges."""
    tables = tabled(blocks, 0)
    value, _, _, error = combined(tables, mass, 0, NODES)
    finer = combined(tables, mass, 0, FINER)[0]
    widths = sum(2.0**-51 / max(block.span, 2.0**-51) for block in blocks)
    rough = sum(table.error for table in tables if isinstance(table, Table))
    return finer, 2.0 * abs(finer - value) + error + rough + widths + 2.0**-50 * abs(finer)


def tabled(blocks: Sequence[Block], order: int) -> list[Source]:
    """Return what to integrate over: tables of blocks whose totals are asked for again and again, the first two as one.

    A table of two blocks together is made as often as it takes until three are left.
    """
    if len(blocks) < 3:
        return list(blocks)
    parts: list[Source] = [blocks[0], *(Table.of(block, order, len(block.u) - 1) for block in blocks[1:])]
    while len(parts) > 3:
        parts = [Table.of(Pair.of(parts[0], parts[1]), order, 1), *parts[2:]]
    return parts


def combined(blocks: Sequence[Source], mass: float, order: int, nodes: int = NODES) -> Result:
    """Return what the blocks have together, given that their totals sum to the mass.

    Given the totals, blocks are independent: means average, and covariances are those within the blocks, averaged, and
    those of the blocks' means.
    """
    first, rest = blocks[0], blocks[1:]
    if not rest:
        found = first.at(np.array([mass]), order)
        return Result(float(found.logs[0]), found.means[0], found.pairs[0], found.error)
    totals, weights = _rule(first, rest, mass, nodes)
    if not len(totals):
        return Result(-math.inf, *_nothing(blocks, order), 0.0)
    one = first.at(totals, order)
    other = rest[0].at(mass - totals, order) if len(rest) == 1 else _each(rest, mass - totals, order, nodes)
    logs = one.logs + other.logs
    peak = float(logs.max())
    if peak == -math.inf:
        return Result(peak, *_nothing(blocks, order), 0.0)
    shares = weights * np.exp(logs - peak)
    whole = float(shares.sum())
    value = peak + math.log(whole)
    error = one.error + other.error
    if not order:
        return Result(value, *_nothing(blocks, order), error)
    shares /= whole
    means = np.hstack([one.means, other.means])
    mean = shares @ means
    return Result(value, mean, _covariance(shares, means - mean, one, other, order), error)


def _covariance(shares: Vector, apart: Vector, one: Values, other: Values, order: int) -> Vector:
    if order < BOTH:
        return np.empty((0, 0))
    pairs = (shares[:, None] * apart).T @ apart
    cut = one.means.shape[1]
    pairs[:cut, :cut] += np.tensordot(shares, one.pairs, 1)
    pairs[cut:, cut:] += np.tensordot(shares, other.pairs, 1)
    return np.asarray(0.5 * (pairs + pairs.T))


def _nothing(blocks: Sequence[Source], order: int) -> tuple[Vector, Vector]:
    m = sum(len(block.u) for block in blocks)
    return np.zeros(m if order else 0), np.zeros((m, m) if order == BOTH else (0, 0))


def _each(rest: Sequence[Source], masses: Vector, order: int, nodes: int) -> Values:
    found = [combined(rest, mass, order, nodes) for mass in masses.tolist()]
    logs, means, pairs, errors = zip(*found, strict=True)
    return Values(np.array(logs), np.array(means), np.array(pairs), max(errors))


def _rule(first: Source, rest: Sequence[Source], mass: float, nodes: int) -> tuple[Vector, Vector]:
    """Return nodes and weights over the totals of the first block, in panels between the kinks of the integrand."""
    low = max(first.low, mass - sum(block.high for block in rest))
    high = min(first.high, mass - sum(block.low for block in rest))
    if not low < high:
        return np.empty(0), np.empty(0)
    kinks = apart((*first.knots, *(mass - kink for kink in kinks_of(rest))), low, high)
    step = (high - low) / PANELS
    edges = [low]
    for end in (*kinks, high):
        edges += np.linspace(edges[-1], end, math.ceil((end - edges[-1]) / step * (1 - 1e-9)) + 1)[1:].tolist()
    points, heights = np.polynomial.legendre.leggauss(nodes if len(edges) <= MANY else nodes // 2)
    half = 0.5 * np.diff(edges)
    middle = 0.5 * (np.array(edges[1:]) + np.array(edges[:-1]))
    return (middle[:, None] + half[:, None] * points).ravel(), (half[:, None] * heights).ravel()


@attrs.frozen(eq=False)
class Pair:
    """Two blocks as one, whose total is split between them in all ways."""

    one: Source
    other: Source
    u: Vector
    low: float
    high: float
    knots: tuple[float, ...]
    theta: float

    @classmethod
    def of(cls, one: Source, other: Source) -> "Pair":
        """Put two blocks together; kinks of theirs, edges of the windows among them, add up."""
        low, high = one.low + other.low, one.high + other.high
        knots = apart(kinks_of((one, other)), low, high)
        return cls(one, other, np.concatenate([one.u, other.u]), low, high, knots, one.theta)

    def at(self, totals: Vector, order: int) -> Values:
        """Return the values at each of the totals (N,)."""
        return _each((self.one, self.other), totals, order, NODES)
