"""Tells in exact integers on which side of its bounds a coordinate lies where rounding cannot tell."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from andrea_core.simplex.box import Box
from andrea_core.values import Integers, Mask, Vector

DOUBT = 2.0**-46
"""Ties are looked for within this of a bound; what a projection makes is off by less."""
_UNIT = 1074
"""All finite doubles are whole multiples of 2**-1074."""


class _Tied(NamedTuple):
    """A coordinate that may or may not meet a bound, in units of 2**-1074."""

    index: int
    v: int
    lower: int
    upper: int


def doubtful(x: Vector, box: Box) -> Mask:
    """Return which of x (..., K), not clipped yet, are too near to a bound to tell on which side they belong."""
    near = (np.abs(x - box.lower) <= DOUBT) | (np.abs(x - box.upper) <= DOUBT)
    return np.asarray(near & (box.lower < box.upper))


def resolved(v: Vector, at_upper: Mask, between: Mask, tied: Integers, box: Box) -> tuple[Mask, Mask]:
    """Return at_upper and between (K,) as the exact projection of v has them, given the coordinates in doubt.

    Fixes ties that surely meet a bound, one side at a time, until the others are between theirs (Bitran and Hax 1981),
    in integers. A coordinate that meets its bound with equality is not between.
    """
    at_upper, between = at_upper.copy(), between.copy()
    at_upper[tied] = between[tied] = False
    fixed = np.where(at_upper, box.upper, box.lower)
    sure = ~between
    sure[tied] = False
    # In all: the sum of v over free coordinates less what the fixed ones leave of the total.
    over = _whole(v[between]) + _whole(fixed[sure]) - _units(box.total)
    count = int(np.count_nonzero(between))
    waiting = [_Tied(int(i), *map(_units, (v[i], box.lower[i], box.upper[i]))) for i in tied]
    while waiting:
        low, high = _passed(waiting, over, count)
        if not low and not high:
            break
        for tie in low:
            over += tie.lower
        for tie in high:
            over += tie.upper
            at_upper[tie.index] = True
        gone = {tie.index for tie in (*low, *high)}
        waiting = [tie for tie in waiting if tie.index not in gone]
    between[[tie.index for tie in waiting]] = True
    return at_upper, between


def _passed(waiting: list[_Tied], over: int, count: int) -> tuple[list[_Tied], list[_Tied]]:
    """Return which ties stay at their lower and at their upper bound, seen from where all of them are free."""
    count += len(waiting)
    over += sum(tie.v for tie in waiting)
    low, high, short = [], [], 0
    for tie in waiting:
        x = count * tie.v - over
        if x <= count * tie.lower:
            low.append(tie)
            short += count * tie.lower - x
        elif x >= count * tie.upper:
            high.append(tie)
            short -= x - count * tie.upper
    # Clipping makes the sum too large by `short`: then theta rises, and what is low already stays so.
    return (low if short >= 0 else []), (high if short <= 0 else [])


def _units(value: float) -> int:
    numerator, denominator = float(value).as_integer_ratio()
    return numerator << (_UNIT + 1 - denominator.bit_length())


def _whole(values: Vector) -> int:
    numbers: Iterable[float] = values.tolist()
    return sum(map(_units, numbers))

