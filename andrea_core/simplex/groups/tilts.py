"""The tilts of group sampling: which totals are drawn first, at what tilt each part is, what will be accepted."""

import math

import attrs
import numpy as np
from numpy.random import Generator

from andrea_core.simplex import tilt
from andrea_core.simplex.box import residual, seal
from andrea_core.simplex.groups.box import Groups, Part
from andrea_core.values import Integers, Mask, Vector

_EDGE = 1e-9
"""A mean this close to the smallest or largest possible total, relative to the widths, is moved in before solving."""


@attrs.frozen(eq=False)
class Block:
    """Coordinates that share a sum: widths `u` (m,), widest last, and their tilt; a drawn total has window and rate."""

    u: Vector
    theta: float
    acceptance: float
    low: float = 0.0
    span: float = 0.0
    rate: float = 0.0

    def __attrs_post_init__(self) -> None:
        seal(self.u)


@attrs.frozen(eq=False)
class Plan:
    """Which parts have their total drawn first, and which sources share what is left of `mass`.

    `columns` are the sources that move; `places` where among these each drawn block and, last, the shared one stand;
    `windows` holds (mask of the shared coordinates, low, high) for each part that must be looked at.
    """

    columns: Integers
    mass: float
    drawn: tuple[Block, ...]
    shared: Block
    places: tuple[Integers, ...]
    windows: tuple[tuple[Mask, float, float], ...]

    def __attrs_post_init__(self) -> None:
        seal(self.columns, *self.places, *(inside for inside, _, _ in self.windows))


@attrs.define(eq=False)
class _Loose:
    """A part while its tilt is sought: its movable sources, widths, and window above the lower bounds."""

    columns: Integers
    u: Vector
    low: float
    high: float
    theta: float = math.nan
    fixed: bool = False

    def mean(self, theta: float) -> float:
        """Return the expected total at a tilt."""
        falling = float(self.u @ tilt.mean_factor(abs(theta) * self.u))
        return falling if theta >= 0 else float(self.u.sum()) - falling

    def deviation(self, theta: float) -> float:
        """Return the standard deviation of the total at a tilt."""
        return math.sqrt(float((self.u * self.u) @ tilt.variance_factor(abs(theta) * self.u)))


def plan(groups: Groups) -> Plan:
    """Return the plan for the parts whose total can move."""
    loose = [_of(groups, part) for part in groups.loose]
    mass = residual(groups.box.total, groups.box.lower)
    for part in groups.parts:
        if part.is_pinned:
            mass -= residual(part.low, groups.box.lower[part.members])
    base = _solve_all(loose, mass)
    drawn, shared, base = _choose(loose, base)
    block = _block(np.concatenate([part.u for part in shared]), base)
    order = np.argsort(np.concatenate([part.u for part in shared]), kind="stable")
    columns = [part.columns for part in drawn] + [np.concatenate([part.columns for part in shared])[order]]
    owner = np.repeat(np.arange(len(shared)), [len(part.columns) for part in shared])[order]
    windows = tuple((np.asarray(owner == k), part.low, part.high) for k, part in enumerate(shared))
    inside = math.prod(_probability(part, base) for part in shared)
    ends = np.cumsum([len(column) for column in columns])
    places = tuple(np.arange(end - len(column), end) for column, end in zip(columns, ends, strict=True))
    return Plan(
        np.concatenate(columns),
        mass,
        tuple(_drawn(part, base) for part in drawn),
        attrs.evolve(block, acceptance=max(block.acceptance * inside, 1e-6)),
        places,
        windows,
    )


def _of(groups: Groups, part: Part) -> _Loose:
    free = groups.free(part.members)
    columns = free[np.argsort(groups.box.width[free], kind="stable")]
    lower = groups.box.lower[part.members]
    return _Loose(columns, groups.box.width[columns], residual(part.low, lower), residual(part.high, lower))


def _solve_all(loose: list[_Loose], mass: float) -> float:
    """Set the tilt of every part at the likeliest totals and return that of the parts that no window binds.

    The likeliest totals solve the same nested problem as a projection, with the expected total of a part in the place
    of its water level; parts are fixed at an edge of their window in the same way.
    """
    base = math.nan
    while True:
        open_ = [part for part in loose if not part.fixed]
        if not open_:
            return base
        base = _solve(np.concatenate([part.u for part in open_]), mass)
        means = [part.mean(base) for part in open_]
        short = [max(part.low - mean, 0.0) for part, mean in zip(open_, means, strict=True)]
        over = [max(mean - part.high, 0.0) for part, mean in zip(open_, means, strict=True)]
        rising = sum(short) >= sum(over)
        missed = short if rising else over
        if not any(amount > _EDGE * part.u.sum() for amount, part in zip(missed, open_, strict=True)):
            return base
        for amount, part in zip(missed, open_, strict=True):
            if amount > 0:
                edge = part.low if rising else part.high
                part.theta, part.fixed = _solve(part.u, edge), True
                mass -= edge


def _solve(u: Vector, mass: float) -> float:
    """Return the tilt, of either sign, at which the expected sum over widths u is `mass`."""
    whole = float(u.sum())
    mass = min(max(mass, _EDGE * whole), (1.0 - _EDGE) * whole)
    least = 1e-12 / float(u.max())
    if mass <= whole / 2.0:
        return max(tilt.solve(u, mass), least)
    return -max(tilt.solve(u, whole - mass), least)


def _choose(loose: list[_Loose], base: float) -> tuple[list[_Loose], list[_Loose], float]:
    """Return the parts whose total is drawn first, the others, at least one, and the tilt of these.

    A bound part is drawn; so is one whose window is narrower than its total would scatter. The part that scatters most
    is never drawn, for it must make up for all that are.
    """
    for part in loose:
        part.theta = part.theta if part.fixed else base
    widest = max(loose, key=lambda part: _scatter(part, base))
    if widest.fixed:
        return [part for part in loose if part is not widest], [widest], widest.theta
    shared = [part for part in loose if part is widest or _is_wide(part, base)]
    return [part for part in loose if part not in shared], shared, base


def _scatter(part: _Loose, base: float) -> float:
    """Return about how far the total of a part strays."""
    rate = abs(base - part.theta)
    natural = min(part.deviation(part.theta), (part.high - part.low) / math.sqrt(12.0))
    return min(natural, 1.0 / rate) if rate > 0.0 else natural


def _is_wide(part: _Loose, base: float) -> bool:
    """Return whether the total of a part no window binds is better left to fall where it may."""
    return not part.fixed and _probability(part, base) >= _acceptance(part.u, base)


def _probability(part: _Loose, theta: float) -> float:
    """Return how likely the total is in its window when the window is not looked at, by the Gaussian approximation."""
    mean, deviation = part.mean(theta), part.deviation(theta) * math.sqrt(2.0)
    inside = 0.5 * (math.erf((part.high - mean) / deviation) - math.erf((part.low - mean) / deviation))
    return max(inside, 1e-6)


def _acceptance(u: Vector, theta: float) -> float:
    logs = tilt.log_mass(abs(theta), u)
    return min(1.0, math.exp(tilt.log_density(abs(theta), u) + float(logs[-1])))


def _block(u: Vector, theta: float) -> Block:
    u = np.sort(u, kind="stable")
    return Block(u, theta, _acceptance(u, theta))


def _drawn(part: _Loose, base: float) -> Block:
    """Return the block of a part; for a single source every tilt will do, and none needs no thinning."""
    alone = len(part.u) == 1
    theta = 1e-12 / float(part.u[0]) if alone else part.theta
    accepted = 1.0 if alone else _acceptance(part.u, theta)
    return Block(part.u, theta, accepted, part.low, part.high - part.low, base - theta)


def draw(block: Block, rng: Generator, count: int) -> tuple[Vector, Vector]:
    """Return `count` accepted totals (count,) and offsets (count, m) of a block whose total is drawn first."""
    totals, offsets = np.empty(count), np.empty((count, len(block.u)))
    done = 0
    while done < count:
        tries = int(1.2 * (count - done) / block.acceptance) + 1
        total = totals_of(block, rng, tries)
        x, accepted = split(block.u, block.theta, total, rng)
        found = np.flatnonzero(accepted)[: count - done]
        totals[done : done + len(found)], offsets[done : done + len(found)] = total[found], x[found]
        done += len(found)
    return totals, offsets


def totals_of(block: Block, rng: Generator, count: int) -> Vector:
    """Draw totals (count,) of a block by its exponential law."""
    return np.asarray(block.low + _tilted(np.array([block.span]), block.rate, rng, count)[:, 0])


def split(u: Vector, theta: float, mass: Vector, rng: Generator) -> tuple[Vector, Mask]:
    """Attempt coordinates at a tilt of either sign whose sum is each row's mass (N,)."""
    if theta >= 0:
        return tilt.attempt(u, theta, mass, rng)
    x, accepted = tilt.attempt(u, -theta, u.sum() - mass, rng)
    return u - x, accepted


def _tilted(u: Vector, theta: float, rng: Generator, count: int) -> Vector:
    """Draw independent coordinates (count, m) at a tilt of either sign, 0 included."""
    if abs(theta) * float(u.max()) < 1e-9:
        return np.asarray(rng.random((count, len(u))) * u)
    x = tilt.draw(u, abs(theta), rng, count)
    return x if theta > 0 else np.asarray(u - x)
