"""Exactly uniform draws by shifted Dirichlet or exponentially tilted rejection, chosen by predicted acceptance."""

import math
from functools import cached_property, lru_cache

import attrs
import numpy as np
from numpy.random import Generator

from andrea_core.simplex import chain, tilt
from andrea_core.simplex.box import Box, residual, seal
from andrea_core.simplex.fixup import fix_up, fix_up_rows
from andrea_core.values import Integers, Mask, Vector

REMEMBERED = 32
MANY = 128
BULK = 5000
"""From this many coordinates, and predicted attempts, on the halving chain repays its set-up."""
BLOCK = 2**17
"""Most random numbers drawn at once."""
CHEAPER = 2.5
"""How many Dirichlet attempts cost as much as one tilted attempt (measured at 16 and 64 coordinates)."""


@attrs.frozen(eq=False, slots=False)
class Sampler:
    """How a region is sampled: method "point", "dirichlet" or "tilted", and the predicted share of accepted attempts.

    `u` (m,) holds the widths of the free coordinates, widest last; `columns` their places; `mass` is what they share;
    `mirrored` means that the draws fall from the upper bounds, which keeps `mass` at or below half the sum of widths.
    """

    method: str
    acceptance: float
    box: Box
    columns: Integers
    u: Vector
    mass: float
    mirrored: bool
    theta: float

    def __attrs_post_init__(self) -> None:
        seal(self.columns, self.u)

    @cached_property
    def links(self) -> tuple[chain.Link, ...] | None:
        """The halving chain, forged at the first bulk draw; None where it would need too many terms."""
        return chain.forge(self.u, self.theta)

    def draw(self, rng: Generator, count: int) -> Vector:
        """Return `count` independent weight vectors (count, K), uniform on the region."""
        if self.method == "point" or count == 0:
            return np.tile(self.box.lower, (count, 1))
        x = self._offsets(rng, count)
        rows = np.tile(self.box.lower, (count, 1))
        corner = (self.box.upper if self.mirrored else self.box.lower)[self.columns]
        rows[:, self.columns] = corner - x if self.mirrored else corner + x
        return fix_up(rows[0], self.box)[None] if count == 1 else fix_up_rows(rows, self.box)

    def _offsets(self, rng: Generator, count: int) -> Vector:
        """Return accepted offsets (count, m) from the corner; bulk draws of many coordinates go by the chain."""
        if len(self.u) >= MANY and count > BULK * self.acceptance and self.links is not None:
            return chain.draw(self.links, self.u, self.theta, self.mass, rng, count)
        attempt = _dirichlet if self.method == "dirichlet" else _tilted
        found: list[Vector] = []
        missing = count
        while missing > 0:
            wanted = math.ceil(1.2 * missing / self.acceptance) + 1 if self.acceptance < 1 else missing
            rows, accepted = attempt(self, rng, max(1, min(wanted, BLOCK // len(self.u))))
            found.append(rows[accepted][:missing])
            missing -= len(found[-1])
        return found[0] if len(found) == 1 else np.concatenate(found)


def _dirichlet(sampler: Sampler, rng: Generator, count: int) -> tuple[Vector, Mask]:
    """Attempt uniform points of the simplex of the given mass; those within the widths are uniform on the region."""
    x = rng.standard_exponential((count, len(sampler.u)))
    x *= sampler.mass / x.sum(axis=1, keepdims=True)
    return x, np.asarray((x <= sampler.u).all(axis=1))


def _tilted(sampler: Sampler, rng: Generator, count: int) -> tuple[Vector, Mask]:
    """Attempt tilted coordinates, the widest set to the rest of the mass."""
    return tilt.attempt(sampler.u, sampler.theta, np.full(count, sampler.mass), rng)


@lru_cache(maxsize=REMEMBERED)
def prepare(box: Box) -> Sampler:
    """Return the sampler of a region: the method with the better predicted yield for its cost.

    Kept for the boxes last asked for, by identity: the same bounds give the same box again (`feasibility.judge`).
    """
    columns = box.free[np.argsort(box.width[box.free], kind="stable")]
    if box.is_point or len(columns) < 2:
        return Sampler("point", 1.0, box, columns, box.width[columns], 0.0, False, 0.0)
    u = box.width[columns]
    pinned = box.lower.copy()
    above = residual(box.total, pinned)
    pinned[columns] = box.upper[columns]
    below = -residual(box.total, pinned)
    mirrored = below < above
    mass = min(above, below)
    theta = max(tilt.solve(u, mass), 1e-12 / float(u[-1]))
    tilted, dirichlet = _acceptances(u, mass, theta)
    if dirichlet * CHEAPER >= tilted:
        return Sampler("dirichlet", dirichlet, box, columns, u, mass, mirrored, theta)
    return Sampler("tilted", tilted, box, columns, u, mass, mirrored, theta)


def _acceptances(u: Vector, mass: float, theta: float) -> tuple[float, float]:
    """Predict the accepted shares (tilted, Dirichlet) from the Gaussian approximation of the tilted sum's density."""
    logs = tilt.log_mass(theta, u)
    density = tilt.log_density(theta, u)
    m = len(u)
    volume = density + theta * mass + float(logs.sum()) + math.lgamma(m) - (m - 1) * math.log(mass)
    dirichlet = 1.0 if float(u[0]) >= mass * (1.0 - 1e-9) else math.exp(min(volume, 0.0))
    return min(1.0, math.exp(density + float(logs[-1]))), max(dirichlet, 1e-300)
