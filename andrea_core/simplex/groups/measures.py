"""Volume, mean and covariance of a region with group bounds, part by part: exact, by quadrature, or from draws."""

import math
from collections.abc import Callable

import attrs
import numpy as np

from andrea_core.simplex import rational
from andrea_core.simplex.box import exact_sum, residual
from andrea_core.simplex.groups import estimates, splines, totals
from andrea_core.simplex.groups.blocks import BOTH, SOME, Block, blocks_of
from andrea_core.simplex.groups.box import Groups
from andrea_core.simplex.groups.sampling import GroupSampler
from andrea_core.simplex.moments import Estimate
from andrea_core.simplex.volume import LogVolume, log_slice
from andrea_core.values import Integers, Vector

MOST = 5
"""Most blocks whose totals are integrated over."""
WORK = 3e8
"""Most numbers for the covariance of many sources in several blocks; draws beyond."""
EXACT = 16
"""Most sources whose volume is sought in whole numbers."""
DRAWS = 20_000


def log_fraction(groups: Groups) -> LogVolume:
    """Return the log of the share that the set takes of the simplices over its free sources.

    Each part whose total is fixed has a simplex of its own; the others share one. Exact for few sources, by quadrature
    over the totals for up to four blocks whose windows bind, an estimate from draws beyond.
    """
    if groups.dimension == 0:
        return LogVolume(0.0, 0.0, "point", 0)
    value = error = 0.0
    for _, u, mass in _fixed(groups):
        log, off = log_slice(u, mass)
        value, error = value + log, error + off
    methods = {"fourier" if len(u) > rational.MOST else "exact" for _, u, _ in _fixed(groups)}
    if groups.loose:
        log, off, method = _loose(groups)
        value, error, methods = value + log, error + off, methods | {method}
    method = max(methods, key=("exact", "fourier", "quadrature", "draws").index)
    return LogVolume(min(value, 0.0), error, method, groups.dimension)


def _loose(groups: Groups) -> tuple[float, float, str]:
    """Return the log of the share that the loose parts take of their simplex, its error, and the method."""
    found = _exactly(groups)
    if found is not None and found[0] > 0:
        value = rational.log_ratio(*found)
        return value, 2.0**-50 * (1.0 + abs(value)), "exact"
    blocks, mass = blocks_of(groups)
    count = sum(len(block.u) for block in blocks)
    if len(blocks) == 1:
        return (*log_slice(blocks[0].u, mass), "fourier")
    if len(blocks) <= MOST:
        value, error = totals.volume(blocks, mass)
        return value + math.lgamma(count), error + 2.0**-48 * count, "quadrature"
    sampler = GroupSampler(groups)
    assert sampler.plan is not None
    value, error = estimates.log_volume(sampler.plan, np.random.default_rng(0))
    return value + math.lgamma(count), error, "draws"


def _exactly(groups: Groups) -> tuple[int, int] | None:
    """Return the share of the loose parts as a ratio of whole numbers; None for more than a few sources."""
    box, free = groups.box, [groups.free(part.members) for part in groups.loose]
    if not 2 <= sum(map(len, free)) <= EXACT:
        return None
    pinned = np.setdiff1d(np.concatenate([part.members for part in groups.loose]), np.concatenate(free))
    rest = [part.low for part in groups.parts if part.is_pinned]
    windows = [(part.at_least, part.at_most) for part in groups.loose]
    ends = [end for pair in windows for end in pair if math.isfinite(end)]
    values = [*box.lower.tolist(), *box.upper.tolist(), *rest, *ends]
    unit = max(float(value).as_integer_ratio()[1] for value in values)

    def whole(value: float) -> int:
        top, bottom = float(value).as_integer_ratio()
        return top * (unit // bottom)

    blocks, mass = [], unit - sum(map(whole, rest)) - sum(whole(box.lower[i]) for i in pinned)
    for part, columns, (least, most) in zip(groups.loose, free, windows, strict=True):
        held = sum(whole(box.lower[i]) for i in part.members)
        u = tuple(whole(box.upper[i]) - whole(box.lower[i]) for i in columns)
        low = whole(least) - held if math.isfinite(least) else 0
        high = whole(most) - held if math.isfinite(most) else sum(u)
        mass -= sum(whole(box.lower[i]) for i in columns)
        if len(u):
            blocks.append(splines.Windowed(u, low, high))
    found = splines.volume(blocks, mass)
    return None if found is None else (found[0], found[1] * unit ** (sum(map(len, free)) - 1))


def _fixed(groups: Groups) -> list[tuple[Integers, Vector, float]]:
    """Return the free columns, their widths and the mass above their lower bounds, of each part with a fixed total."""
    found = []
    for part in groups.parts:
        columns = groups.free(part.members)
        if part.is_pinned and len(columns) > 1:
            found.append((columns, groups.box.width[columns], residual(part.low, groups.box.lower[part.members])))
    return found


def mean(groups: Groups, draws: Callable[[int], Vector]) -> Estimate:
    """Return the mean (K,) of the uniform law, legal weights; `draws` gives uniform draws (n, K) where it must."""
    found = _moments(groups, SOME)
    if found is None:
        made = estimates.mean(draws(DRAWS))
        return attrs.evolve(made, value=groups.settle(made.value))
    w, method = groups.box.lower.copy(), found[2]
    w += found[0]
    return Estimate.sure(groups.settle(w), method)


def covariance(groups: Groups, draws: Callable[[int], Vector]) -> Estimate:
    """Return the covariance (K, K) of the uniform law; 0 for sources without room."""
    found = _moments(groups, BOTH)
    return estimates.covariance(draws(DRAWS)) if found is None else Estimate.sure(found[1], found[2])


def _moments(groups: Groups, order: int) -> tuple[Vector, Vector, str] | None:
    """Return mean offsets (K,), covariance (K, K) and the method; None when only draws can tell."""
    count = len(groups.box.lower)
    offsets, pairs, method = np.zeros(count), np.zeros((count, count)), "point"
    if groups.dimension == 0:
        return offsets, pairs, method
    slices = [Block(columns, u, 0.0, exact_sum(u), 1.0, ()) for columns, u, _ in _fixed(groups)]
    jobs = [([block], mass) for block, (_, _, mass) in zip(slices, _fixed(groups), strict=True)]
    few = all(len(block.u) <= rational.MOST_MOMENTS for block in slices)
    method = "exact" if few else "fourier"
    if groups.loose:
        blocks, mass = blocks_of(groups)
        if not _worth(blocks, order):
            return None
        jobs.append((blocks, mass))
        method = "quadrature" if len(blocks) > 1 else method
    for blocks, mass in jobs:
        found = totals.combined(totals.tabled(blocks, order), mass, order)
        columns = np.concatenate([block.columns for block in blocks])
        offsets[columns] = found.mean
        if order == BOTH:
            pairs[np.ix_(columns, columns)] = found.pairs
    return offsets, pairs, method


def _worth(blocks: list[Block], order: int) -> bool:
    """Return whether quadrature over the totals costs less than it gives."""
    count = sum(len(block.u) for block in blocks)
    numbers = count**2 if order == BOTH else count
    nodes = float(totals.PANELS * totals.NODES) ** (len(blocks) - 1)
    return len(blocks) <= MOST and nodes * numbers <= WORK
