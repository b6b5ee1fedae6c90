"""Blocks of sources that share a total: volume, mean and covariance of their slice at any total."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import attrs
import numpy as np

from andrea_core.simplex import moments, tilt, volume
from andrea_core.simplex.box import exact_sum, residual
from andrea_core.simplex.groups.box import Groups, Part
from andrea_core.simplex.slices import tightened
from andrea_core.values import Integers, Vector

KNOTTED = 6
"""Most coordinates of a block for which the totals where its volume has a kink are looked up."""
FAR = 45.0
"""Totals whose tilted density is below exp(-45) of its peak, by the saddle point, are left out."""
SOME, BOTH = 1, 2
"""How much is asked for beyond the volume: the mean, or mean and covariance."""
_HALVINGS = 60
_IMPLIED = 2.0**-46
_STEEPEST = 1e16


class Values(NamedTuple):
    """Of some totals: log volume (N,), mean (N, m) and covariance (N, m, m) of the slice, the worst error of a log."""

    logs: Vector
    means: Vector
    pairs: Vector
    error: float


@attrs.frozen(eq=False)
class Block:
    """Sources at `columns` (m,) with room u (m,) above their lower bounds; their total lies in [low, high].

    Only totals in [low, high] matter; `span` is the width of the whole window. `knots` are totals at which the volume
    has a kink. `theta` is the tilt that the blocks of a region share.
    """

    columns: Integers
    u: Vector
    low: float
    high: float
    span: float
    knots: tuple[float, ...]
    theta: float = 0.0

    def at(self, totals: Vector, order: int) -> Values:
        """Return the values of the slice at each of the totals (N,)."""
        m = len(self.u)
        logs, worst = np.empty(len(totals)), 0.0
        means = np.empty((len(totals), m if order else 0))
        pairs = np.empty((len(totals), m, m) if order == BOTH else (len(totals), 0, 0))
        for k, total in enumerate(totals.tolist()):
            u, lower, upper, mass, mirrored = _slice(self.u, total)
            log, error = volume.log_slice(u, mass)
            logs[k], worst = log - math.lgamma(m), max(worst, error)
            if order and m == 1:  # its bounds leave it no choice: there is nothing above the lower one
                means[k], pairs[k] = total, 0.0
            elif order:
                offset, found = moments.of_slice(u, mass, order == BOTH)
                means[k] = upper - offset if mirrored else lower + offset
                pairs[k] = found if order == BOTH else 0.0
        return Values(logs, means, pairs, worst)


def _slice(u: Vector, total: float) -> tuple[Vector, Vector, Vector, float, bool]:
    """Return tightened widths, lower and upper ends and mass of the slice at a total, and whether it is mirrored."""
    below = -residual(total, u)
    widths, mass, mirrored = tightened(u, total, below)
    return widths, np.maximum(u - below, 0.0), np.minimum(u, total), mass, mirrored


def blocks_of(groups: Groups) -> tuple[list[Block], float]:
    """Return the blocks of the loose parts, smallest first, and the mass that they share.

    Parts whose window follows from the others' go together in one block. Of each window only what matters is kept: at
    the totals that are likeliest together, each block's own tilted density is at its largest, so that no total far
    below that counts.
    """
    mass = residual(groups.box.total, groups.box.lower)
    for part in groups.parts:
        if part.is_pinned:
            mass -= residual(part.low, groups.box.lower[part.members])
    held, merged = _binding(groups, mass)
    plain = [_Plain.of(groups, [part], True) for part in held]
    if merged:
        plain.append(_Plain.of(groups, merged, False))
    theta = _shared_tilt(plain, mass)
    return sorted((one.block(theta) for one in plain), key=lambda block: len(block.u)), mass


def _binding(groups: Groups, mass: float) -> tuple[list[Part], list[Part]]:
    """Return the parts whose window is needed, and those whose windows the others imply."""
    ends = {id(part): _window(groups, part) for part in groups.loose}
    rooms = {id(part): float(groups.box.width[groups.free(part.members)].sum()) for part in groups.loose}
    held, merged = list[Part](), list[Part]()
    for part in sorted(groups.loose, key=lambda part: math.isfinite(part.at_least)):
        others = [ends[id(one)] for one in groups.loose if one is not part]
        least = max(0.0, mass - sum(high for _, high in others))
        most = min(rooms[id(part)], mass - sum(low for low, _ in others))
        low, high = ends[id(part)]
        if low <= least + _IMPLIED and high >= most - _IMPLIED:
            ends[id(part)] = 0.0, rooms[id(part)]
            merged.append(part)
        else:
            held.append(part)
    return held, merged


def _window(groups: Groups, part: Part) -> tuple[float, float]:
    lower = groups.box.lower[part.members]
    return max(residual(part.low, lower), 0.0), max(residual(part.high, lower), 0.0)


@attrs.frozen(eq=False)
class _Plain:
    """A block before its tilt is known: columns, widths and the whole window of the total."""

    columns: Integers
    u: Vector
    low: float
    high: float

    @classmethod
    def of(cls, groups: Groups, parts: Sequence[Part], windowed: bool) -> "_Plain":
        columns = np.concatenate([groups.free(part.members) for part in parts])
        u = groups.box.width[columns]
        low, high = _window(groups, parts[0]) if windowed else (0.0, math.inf)
        return cls(columns, u, low, min(high, exact_sum(u)))

    def total(self, theta: float) -> float:
        """Return the expected total under a tilt, moved into the window."""
        return min(max(_mean(self.u, theta), self.low), self.high)

    def block(self, theta: float) -> Block:
        start, end = _reach(self.u, self.low, self.high, theta)
        return Block(self.columns, self.u, start, end, self.high - self.low, _knots(self.u, start, end), theta)


def _shared_tilt(plain: Sequence[_Plain], mass: float) -> float:
    """Return the tilt under which the expected totals, each moved into its window, share the mass."""
    steep = 1.0 / mass
    while steep < _STEEPEST and not (
        sum(one.total(steep) for one in plain) <= mass <= sum(one.total(-steep) for one in plain)
    ):
        steep *= 2.0
    low, high = -steep, steep
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if sum(one.total(middle) for one in plain) > mass else (low, middle)
    return 0.5 * (low + high)


def _knots(u: Vector, low: float, high: float) -> tuple[float, ...]:
    """Return the sums of subsets of a few widths that lie inside the window."""
    if len(u) > KNOTTED:
        return ()
    sums = {math.fsum(some) for size in range(len(u) + 1) for some in itertools.combinations(u.tolist(), size)}
    return apart(sums, low, high)


def apart(places: Iterable[float], low: float, high: float) -> tuple[float, ...]:
    """Return places strictly between two ends in order, none closer than rounding to the one before or to an end."""
    found, least = [low], 1e-13 * (high - low) + 1e-16 * abs(high)
    for place in sorted(place for place in places if low < place < high):
        if place - found[-1] > least and high - place > least:
            found.append(place)
    return tuple(found[1:])


def _reach(u: Vector, low: float, high: float, theta: float) -> tuple[float, float]:
    """Return the part of a window where exp(-theta total) times the volume is not negligible; both are log-concave."""
    if len(u) < 2 or high <= low:
        return _fading(low, high, theta)

    def level(total: float) -> float:
        return _saddle(u, total) - theta * total

    peak = min(max(_mean(u, theta), low), high)
    least = level(peak) - FAR
    return _edge(level, least, peak, low), _edge(level, least, peak, high)


def _fading(low: float, high: float, theta: float) -> tuple[float, float]:
    """Return the part of a window where a plain exponential is not negligible."""
    if abs(theta) * (high - low) <= FAR:
        return low, high
    return (low, low + FAR / theta) if theta > 0 else (high + FAR / theta, high)


def _edge(level: Callable[[float], float], least: float, peak: float, end: float) -> float:
    """Return where between peak and end the level falls to the least one, the end itself if it does not."""
    near, far = peak, end
    if level(end) >= least:
        return end
    for _ in range(_HALVINGS):
        middle = 0.5 * (near + far)
        near, far = (middle, far) if level(middle) >= least else (near, middle)
    return far


def _mean(u: Vector, theta: float) -> float:
    falling = float(tilt.means(u, abs(theta)).sum())
    return falling if theta >= 0 else exact_sum(u) - falling


def _saddle(u: Vector, total: float) -> float:
    """Return the log volume of a slice by the saddle point, -inf where there is none."""
    whole = exact_sum(u)
    if not 0.0 < total < whole:
        return -math.inf
    mass = min(total, whole - total)
    theta = tilt.solve(u, mass)
    return tilt.log_density(theta, u) + theta * mass + float(tilt.log_mass(theta, u).sum())
