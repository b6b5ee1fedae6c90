"""Exactly uniform draws from a region with group bounds: a tilt of their own for groups that their windows bind."""

from functools import cached_property

import attrs
import numpy as np
from numpy.random import Generator

from andrea_core.simplex import sampling
from andrea_core.simplex.groups.box import Groups, Part
from andrea_core.simplex.groups.tilts import Plan, draw, plan, split
from andrea_core.values import Mask, Vector

BLOCK = 2**17
"""Most random numbers drawn at once."""


@attrs.frozen(eq=False, slots=False)
class GroupSampler:
    """How a region with group bounds is sampled: method "point", "slices" (every total is fixed) or "tilts".

    Independent tilted weights have a density that is a function of the totals. Parts that their window binds get their
    total drawn first, by the exponential law that makes up for the difference between their tilt and that of the
    others; given all of these, the other sources share what is left. Thinned by the density of the weight that is set
    to the rest, in each part and among the others, accepted points are uniform.
    """

    groups: Groups

    @property
    def method(self) -> str:
        """How draws are made."""
        if self.groups.dimension == 0:
            return "point"
        return "tilts" if self.groups.loose else "slices"

    @cached_property
    def plan(self) -> Plan | None:
        """Which totals are drawn first and which tilts are used; None when every total is fixed."""
        return plan(self.groups) if self.groups.loose else None

    @property
    def acceptance(self) -> float:
        """The predicted share of accepted attempts among the sources that share what is left."""
        return self.plan.shared.acceptance if self.plan else 1.0

    @property
    def acceptances(self) -> tuple[float, ...]:
        """The predicted share of accepted attempts in each part whose total is drawn first."""
        return tuple(block.acceptance for block in self.plan.drawn) if self.plan else ()

    @cached_property
    def slices(self) -> tuple[tuple[Part, sampling.Sampler], ...]:
        """The parts with a fixed total, and how each is sampled."""
        pinned = (part for part in self.groups.parts if part.is_pinned)
        return tuple((part, sampling.prepare(self.groups.cut(part.members, part.low))) for part in pinned)

    def draw(self, rng: Generator, count: int) -> Vector:
        """Return `count` independent weight vectors (count, K), uniform on the region."""
        rows = np.tile(self.groups.box.lower, (count, 1))
        if self.method == "point" or count == 0:
            return rows
        for part, sampler in self.slices:
            rows[:, part.members] = sampler.draw(rng, count)
        if self.plan:
            self._fill(rows, self.plan, rng)
        for i, row in enumerate(rows):
            if not self.groups.holds(row):
                rows[i] = self.groups.settle(row)
        return rows

    def _fill(self, rows: Vector, plan: Plan, rng: Generator) -> None:
        """Add accepted offsets from the lower bounds to all rows, in the columns of the loose parts."""
        done = 0
        while done < len(rows):
            wanted = int(1.2 * (len(rows) - done) / self.acceptance) + 1
            offsets, accepted = attempt(plan, rng, max(1, min(wanted, BLOCK // rows.shape[1])))
            found = offsets[accepted][: len(rows) - done]
            rows[done : done + len(found), plan.columns] += found
            done += len(found)


def attempt(plan: Plan, rng: Generator, count: int) -> tuple[Vector, Mask]:
    """Attempt offsets (count, m) of all loose columns, those of the drawn parts already accepted."""
    offsets = np.zeros((count, len(plan.columns)))
    left = np.full(count, plan.mass)
    for block, place in zip(plan.drawn, plan.places[:-1], strict=True):
        totals, offsets[:, place] = draw(block, rng, count)
        left -= totals
    x, accepted = split(plan.shared.u, plan.shared.theta, left, rng)
    offsets[:, plan.places[-1]] = x
    for inside, low, high in plan.windows:
        totals = x[:, inside].sum(axis=1)
        accepted &= (totals >= low) & (totals <= high)
    return offsets, accepted
