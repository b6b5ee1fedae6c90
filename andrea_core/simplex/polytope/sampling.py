"""Draws from a region with rows: rejection from the bounds while enough are accepted, else hit-and-run."""

from functools import cached_property
from typing import NamedTuple

import attrs
import numpy as np
from numpy.random import Generator

from andrea_core.simplex import sampling
from andrea_core.simplex.polytope.survey import Survey
from andrea_core.values import Mask, Vector

PILOT = 4000
LEAST = 1e-3
"""Below this share of accepted draws, rejection is given up."""
CHAINS = 64
BURN = 30
"""Steps of a chain before its first draw, for each dimension; `THIN` of them between two draws."""
THIN = 8


class Draws(NamedTuple):
    """Weights (n, K), and how many independent draws they are worth for the mean of the worst source."""

    rows: Vector
    effective: float


@attrs.frozen(eq=False, slots=False)
class PolytopeSampler:
    """How a region with rows is sampled: method "point", "rejection" (exact) or "hit-and-run" (approximate)."""

    known: Survey

    @cached_property
    def plain(self) -> sampling.Sampler:
        """The exact sampler of the bounds alone."""
        return sampling.prepare(self.known.box)

    @cached_property
    def acceptance(self) -> float:
        """The share of uniform draws from the bounds that meet the rows, from a fixed pilot of 4,000."""
        if self.known.box.is_point:
            return 1.0
        if self.known.tied.any():
            return 0.0
        return float(self.met(self.plain.draw(np.random.default_rng(0), PILOT)).mean())

    @property
    def method(self) -> str:
        """How draws are made."""
        if self.known.box.is_point:
            return "point"
        return "rejection" if self.acceptance >= LEAST else "hit-and-run"

    @property
    def approximate(self) -> bool:
        """Whether draws are neither exactly uniform nor quite independent."""
        return self.method == "hit-and-run"

    def draw(self, rng: Generator, count: int) -> Vector:
        """Return `count` weight vectors (count, K), before the last units of rounding are settled."""
        return self.report(rng, count).rows

    def report(self, rng: Generator, count: int) -> Draws:
        """Return `count` draws and how many independent ones they are worth."""
        if self.method == "point" or count == 0:
            return Draws(np.tile(self.known.box.lower, (count, 1)), float(count))
        if self.method == "rejection":
            return Draws(self._rejected(rng, count), float(count))
        chains = min(count, CHAINS)
        states = self._walk(rng, chains, -(-count // chains))
        return Draws(states.reshape(-1, states.shape[2])[:count], min(_effective(states), float(count)))

    def met(self, rows: Vector) -> Mask:
        """Return which rows (n,) of weights meet the rows of the region."""
        values = rows @ self.known.rows.matrix.T
        return np.asarray(((values >= self.known.rows.low) & (values <= self.known.rows.high)).all(axis=1))

    def _rejected(self, rng: Generator, count: int) -> Vector:
        found: list[Vector] = []
        while sum(map(len, found)) < count:
            rows = self.plain.draw(rng, min(int(1.2 * count / self.acceptance) + 1, 100 * PILOT))
            found.append(rows[self.met(rows)])
        return np.concatenate(found)[:count]

    def _walk(self, rng: Generator, chains: int, kept: int) -> Vector:
        """Return the states (kept, chains, K) of parallel chains that start at the centre."""
        matrix, limits = self.known.rows.one_sided()
        lines = matrix[~self.known.tied], limits[~self.known.tied]
        dimension = self.known.basis.shape[1]
        x = np.tile(self.known.centre, (chains, 1))
        states = np.empty((kept, *x.shape))
        for k in range(kept):
            for _ in range((BURN if k == 0 else THIN) * dimension):
                x = self._step(x, lines, rng)
            states[k] = x
        return states

    def _step(self, x: Vector, lines: tuple[Vector, Vector], rng: Generator) -> Vector:
        """Move every chain (C, K) to a uniform point of a line through it: an exchange of two, or any direction.

        Exchanges keep the sum exactly; where rows hold with equality, most of them lead out of the region.
        """
        box = self.known.box
        pairs = not self.known.tied.any() and rng.random() < 0.5
        direction = self._exchanges(rng, len(x)) if pairs else self._anywhere(rng, len(x))
        speed = direction @ lines[0].T
        room = np.maximum(lines[1] - x @ lines[0].T, 0.0)
        low, high = ends(np.hstack([direction, -direction, speed]), np.hstack([box.upper - x, x - box.lower, room]))
        moved = x + (low + (high - low) * rng.random(len(x)))[:, None] * direction
        return box.clip(moved)

    def _exchanges(self, rng: Generator, chains: int) -> Vector:
        free, row = self.known.box.free, np.arange(chains)
        first = rng.integers(len(free), size=chains)
        second = (first + rng.integers(1, len(free), size=chains)) % len(free)
        direction = np.zeros((chains, len(self.known.box.lower)))
        direction[row, free[first]], direction[row, free[second]] = 1.0, -1.0
        return direction

    def _anywhere(self, rng: Generator, chains: int) -> Vector:
        basis = self.known.basis
        direction = rng.standard_normal((chains, basis.shape[1])) @ basis.T
        return np.asarray(direction / np.linalg.norm(direction, axis=1, keepdims=True))


def ends(speed: Vector, room: Vector) -> tuple[Vector, Vector]:
    """Return how far (C,) each chain can go back and on before any of its rooms (C, M) is used up."""
    still = np.abs(speed) < 1e-14
    times = np.maximum(room, 0.0) / np.where(still, 1.0, speed)
    high = np.where(still | (speed < 0), np.inf, times).min(axis=1)
    low = np.where(still | (speed > 0), -np.inf, times).max(axis=1)
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


def _effective(states: Vector) -> float:
    """Return the effective number of draws of chains (S, C, K): the least over sources of S C / (1 + 2 sum of rho)."""
    kept, chains, _ = states.shape
    centred = states - states.mean(axis=(0, 1))
    variance = (centred**2).mean(axis=(0, 1))
    moving = variance > 1e-24
    time = np.ones(int(moving.sum()))
    open_ = np.ones_like(time, dtype=bool)
    for lag in range(1, kept // 2):
        rho = (centred[lag:] * centred[:-lag]).mean(axis=(0, 1))[moving] / variance[moving]
        open_ &= rho > 0.0
        if not open_.any():
            break
        time += np.where(open_, 2.0 * rho, 0.0)
    return float(kept * chains / time.max(initial=1.0))
