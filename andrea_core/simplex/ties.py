"""Which coordinates of a projection lie between their bounds: by refinement, and in exact integers where they tie."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from andrea_core.simplex.box import Box, residual
from andrea_core.values import Integers, Mask, Vector

DOUBT = 2.0**-46
"""Ties are looked for within this of a bound; what a projection makes is off by less."""
REFINEMENTS = 8
_UNIT = 1074
"""All finite doubles are whole multiples of 2**-1074."""

Found = tuple[Vector, Mask, Mask]
"""Weights (K,) not clipped yet, and which coordinates stand at their upper bound and which between their bounds."""
Moved = Callable[[Vector, Mask, Mask, Box], Vector]
"""How a vector is moved, by the multiplier that the coordinates between their bounds imply."""


class _Tied(NamedTuple):
    """A coordinate that may or may not meet a bound, in units of 2**-1074."""

    place: int
    v: int
    lower: int
    upper: int


def doubtful(x: Vector, box: Box) -> Mask:
    """Return which of x (..., K), not clipped yet, are too near to a bound to tell on which side they belong."""
    middle = 0.5 * (box.lower + box.upper)
    half = np.where(box.lower < box.upper, 0.5 * (box.upper - box.lower), -1.0)  # no doubt where bounds are equal
    off = np.abs(x - middle)
    off -= half
    return np.asarray(np.abs(off, out=off) <= DOUBT)


def refined(v: Vector, at_upper: Mask, between: Mask, box: Box, moved: Moved) -> Found:
    """Return v moved by the multiplier that the free coordinates imply, until those stay the same."""
    x = moved(v, at_upper, between, box)
    for _ in range(REFINEMENTS):
        upper = x >= box.upper
        inside = ~upper & (x > box.lower)
        if not inside.any() or (inside == between).all():
            break
        at_upper, between = upper, inside
        x = moved(v, at_upper, between, box)
    return x, at_upper, between


def decided(v: Vector, found: Found, box: Box, moved: Moved, scales: bool = False) -> tuple[Vector, Box, Mask]:
    """Return the weights, the box and which weights are free, ties decided as the exact projection of v has them.

    `scales` says that the projection multiplies v, rather than that it takes a number away.
    """
    x, at_upper, between = found
    movable = box.lower < box.upper
    astray = ((x >= box.upper) != at_upper) | (((x < box.upper) & (x > box.lower)) != between)
    tied = doubtful(x, box)
    if (astray & movable & ~tied).any():
        tied = movable
    while True:
        if tied.any():
            at_upper, between = resolved(v, at_upper, between, np.flatnonzero(tied), box, scales)
            x = moved(v, at_upper, between, box)
        w = np.where(between, x, np.where(at_upper, box.upper, box.lower))
        if between.any() or tied is movable or residual(box.total, w) == 0.0:
            return w, box, between
        tied = movable  # all on bounds, and a sum that rounding hides: the multiplier is not in this flat stretch


def resolved(
    v: Vector, at_upper: Mask, between: Mask, tied: Integers, box: Box, scales: bool = False
) -> tuple[Mask, Mask]:
    """Return at_upper and between (K,) as the exact projection of v has them, given the coordinates in doubt.

    Fixes ties that surely meet a bound, one side at a time, until the others are between theirs (Bitran and Hax 1981),
    in integers. A coordinate that meets its bound with equality is not between.
    """
    at_upper, between = at_upper.copy(), between.copy()
    at_upper[tied] = between[tied] = False
    sure = ~between
    sure[tied] = False
    rest = _units(box.total) - _whole(np.where(at_upper, box.upper, box.lower)[sure])
    mass, count = _whole(v[between]), int(np.count_nonzero(between))
    waiting = [_Tied(int(i), *map(_units, (v[i], box.lower[i], box.upper[i]))) for i in tied]
    while waiting:
        free, whole = count + len(waiting), mass + sum(tie.v for tie in waiting)
        low, high = _passed(waiting, *((rest, 0, whole) if scales else (free, whole - rest, free)))
        if not low and not high:
            break
        rest -= sum(tie.lower for tie in low) + sum(tie.upper for tie in high)
        at_upper[[tie.place for tie in high]] = True
        gone = {tie.place for tie in (*low, *high)}
        waiting = [tie for tie in waiting if tie.place not in gone]
    between[[tie.place for tie in waiting]] = True
    return at_upper, between


def _passed(waiting: list[_Tied], factor: int, off: int, parts: int) -> tuple[list[_Tied], list[_Tied]]:
    """Return which ties stay at their lower and at their upper bound, seen from where all of them are free.

    There, a coordinate is (factor v - off) / parts.
    """
    low, high, short = [], [], 0
    for tie in waiting:
        x = factor * tie.v - off
        if x <= parts * tie.lower:
            low.append(tie)
            short += parts * tie.lower - x
        elif x >= parts * tie.upper:
            high.append(tie)
            short -= x - parts * tie.upper
    # Clipping makes the sum too large by `short`: then all have to fall, and what is low already stays so.
    return (low if short >= 0 else []), (high if short <= 0 else [])


def _units(value: float) -> int:
    numerator, denominator = float(value).as_integer_ratio()
    return numerator << (_UNIT + 1 - denominator.bit_length())


def _whole(values: Vector) -> int:
    numbers: Iterable[float] = values.tolist()
    return sum(map(_units, numbers))
