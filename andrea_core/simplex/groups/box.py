"""The numbers of a region with group bounds: its parts, a window for the total of each, the last units of rounding."""

import itertools
import math
from functools import cached_property

import attrs
import numpy as np

from andrea_core.simplex.box import PINNED, Box, exact_sum, frozen, residual, seal
from andrea_core.simplex.feasibility import shifted
from andrea_core.simplex.fixup import fix_up
from andrea_core.values import Integers, Vector

ROUNDS = 64
FINEST = 8
"""How many of a part's smallest weights are tried for the last units."""


@attrs.frozen(eq=False)
class Part:
    """Sources that share a bound: their places, and the window [low, high] of their total, tightened.

    `at_least` and `at_most` are the bounds to keep; those of the sources that no group names are infinite.
    """

    members: Integers
    low: float
    high: float
    at_least: float = -math.inf
    at_most: float = math.inf

    def __attrs_post_init__(self) -> None:
        seal(self.members)

    @property
    def is_pinned(self) -> bool:
        """Whether the total cannot move."""
        return self.high - self.low <= PINNED

    def admits(self, total: float) -> bool:
        """Return whether a sum is in the bounds to keep, to one unit in the last place."""
        return self.at_least - math.ulp(self.at_least) <= total <= self.at_most + math.ulp(self.at_most)


@attrs.frozen(eq=False, slots=False)
class Groups:
    """The set { w of the box : the total of each part in its window }; the parts share no source and miss none."""

    box: Box
    parts: tuple[Part, ...]

    def cut(self, members: Integers, total: float) -> Box:
        """Return the box of some sources alone, with their total."""
        return Box(self.box.lower[members], self.box.upper[members], total)

    @cached_property
    def loose(self) -> tuple[Part, ...]:
        """The parts whose total can move; never exactly one."""
        return tuple(part for part in self.parts if not part.is_pinned)

    def free(self, members: Integers) -> Integers:
        """Return those of the places that can move."""
        return members[self.box.is_free[members]]

    @cached_property
    def dimension(self) -> int:
        """Dimension of the set: each pinned part is a slice of its own, the others share one sum."""
        if self.box.is_point:
            return 0
        pinned = sum(max(len(self.free(part.members)) - 1, 0) for part in self.parts if part.is_pinned)
        return pinned + max(sum(len(self.free(part.members)) for part in self.loose) - 1, 0)

    def holds(self, w: Vector) -> bool:
        """Return whether w (K,) is legal: bounds bitwise, the exact sum, group totals to one unit in the last place."""
        if not self.box.holds(w):
            return False
        return self.box.is_point or all(part.admits(exact_sum(w[part.members])) for part in self.parts)

    def settle(self, w: Vector) -> Vector:
        """Return w (K,) moved by the last units into the set: bounds, then group totals, then the sum of all."""
        w = self.box.clip(w)
        if self.box.is_point:
            return w
        for part in self.parts:
            total = exact_sum(w[part.members])
            if not part.admits(total):
                edge = part.at_least if total < part.at_least else part.at_most
                w[part.members] = fix_up(w[part.members], self.cut(part.members, edge))
        for _ in range(ROUNDS):
            rest = residual(self.box.total, w)
            if exact_sum(w) == self.box.total or not self._shift(w, rest):
                break
        return w

    def _shift(self, w: Vector, rest: float) -> bool:
        """Move as much of the residual as fits into the part with most room, or into any part within its last unit."""
        sign = math.copysign(1.0, rest)
        totals = [exact_sum(w[part.members]) for part in self.parts]
        room = self.box.upper - w if rest > 0 else w - self.box.lower
        rooms = [
            min(part.high - total if rest > 0 else total - part.low, float(room[part.members].sum()))
            for part, total in zip(self.parts, totals, strict=True)
        ]
        for k in sorted(range(len(rooms)), key=lambda k: -rooms[k]):
            part = self.parts[k]
            amounts = (abs(rest), _least(rest)) if rooms[k] <= PINNED else (min(abs(rest), rooms[k]),)
            # The source with most room can take most; where its last unit is too coarse, a smaller weight's may do.
            finest = part.members[np.argsort(w[part.members], kind="stable")][:FINEST]
            for j, amount in itertools.product((part.members[room[part.members].argmax()], *finest), amounts):
                if room[j] > 0.0 and self._try(w, int(j), sign * min(amount, float(room[j])), part, rest):
                    return True
        return False

    def _try(self, w: Vector, j: int, step: float, part: Part, rest: float) -> bool:
        """Move one weight if its part still admits its total and less is missing; leave it as it was otherwise."""
        before = float(w[j])
        w[j] = min(max(_moved(before, step), float(self.box.lower[j])), float(self.box.upper[j]))
        if part.admits(exact_sum(w[part.members])) and abs(residual(self.box.total, w)) < abs(rest):
            return True
        w[j] = before
        return False


def _least(rest: float) -> float:
    """Return the least change that makes a sum, now off by the residual, round to 1 (ties go to 1)."""
    return max(rest - 2.0**-54, 0.0) if rest > 0 else max(-rest - 2.0**-53, 0.0)


def _moved(value: float, rest: float) -> float:
    """Return value + rest, at least one unit in the last place away."""
    moved = value + rest
    return moved if moved != value else math.nextafter(value, math.copysign(math.inf, rest))


def tighten(box: Box, members: Integers, low: float, high: float) -> tuple[Vector, Vector]:
    """Return the bounds of some sources, tightened by the window of their total."""
    lower, upper = box.lower[members], box.upper[members]
    above, below = residual(high, lower), -residual(low, upper)
    if above <= 0.0 or below <= 0.0:
        corner = lower if above <= below else upper
        total = min(max(exact_sum(corner), low), high)
        point = fix_up(corner, Box(lower, upper, total))
        return point, point
    top = np.minimum(upper, shifted(lower, above, residual(high, np.append(lower, above))))
    bottom = np.maximum(lower, shifted(upper, -below, residual(low, np.append(upper, -below))))
    return np.minimum(bottom, top), top


def bounded(box: Box, windows: tuple[Part, ...]) -> Box:
    """Return the box with every part's bounds tightened.

    A part with a fixed total is kept at the low edge of its window, which may be a unit wide. Where its sources' floors
    take all of that, the others of the part get nothing, and the unit that their caps would leave is closed.
    """
    lower, upper = np.array(box.lower), np.array(box.upper)
    for part in windows:
        low, high = tighten(box, part.members, part.low, part.high)
        if part.is_pinned and exact_sum(low) >= part.low:  # what is missing rounds away
            high = np.where((low == 0.0) & (high <= PINNED), 0.0, high)
        lower[part.members], upper[part.members] = low, high
    return Box(frozen(lower), frozen(upper), box.total)
