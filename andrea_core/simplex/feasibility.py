"""Whether bounds leave any weights, the tightened bounds if so, and the smallest explanation if not."""

import bisect
from functools import lru_cache

import attrs
import numpy as np

from andrea_core.errors import InfeasibleRegion
from andrea_core.simplex.bounds import Bound, Bounds
from andrea_core.simplex.box import PINNED, Box, exact_sum, frozen, residual
from andrea_core.simplex.fixup import fix_up
from andrea_core.values import Vector

COMPUTED = 1e-12
"""Floors or caps that miss a sum of 1 by no more than this, as computed ones do, leave one point within rounding."""
REMEMBERED = 32
"""A curriculum cuts the same few regions phase after phase: so many verdicts are kept."""


@attrs.frozen(eq=False)
class Verdict:
    """A feasible set of bounds: its box, and how far it is from exactly one point if it is one within rounding."""

    box: Box
    rounding: float = 0.0


def judge(bounds: Bounds) -> Verdict:
    """Return the tightened box of feasible bounds; raises InfeasibleRegion with the smallest clash otherwise.

    Decimals whose exact sum is 1 never fail: correctly rounded one by one, they sum to 1 within 2**-53.
    """
    verdict = _verdict(bounds.lower.tobytes(), bounds.upper.tobytes())
    if verdict is None:
        raise _explained(bounds)
    return verdict


def _explained(bounds: Bounds) -> InfeasibleRegion:
    """Return the error of bounds that leave no weights."""
    if (bounds.lower > bounds.upper).any():
        return _crossed(bounds)
    above = residual(1.0, bounds.lower)
    return _floors_too_high(bounds, -above) if above < -COMPUTED else _caps_too_low(bounds, residual(1.0, bounds.upper))


@lru_cache(maxsize=REMEMBERED)
def _verdict(low: bytes, high: bytes) -> Verdict | None:
    """Return the verdict on float64 bounds, None when they leave no weights; asked phase after phase."""
    lower, upper = np.frombuffer(low), np.frombuffer(high)
    above, below = residual(1.0, lower), -residual(1.0, upper)
    if (lower > upper).any() or min(above, below) < -COMPUTED:
        return None
    if min(above, below) <= PINNED:
        corner = lower if above <= below else upper
        return Verdict(_point(corner, Box(lower, upper)), min(above, below))
    box = _tighten(lower, upper, above, below)
    return Verdict(box if len(box.free) > 1 else _point(box.lower, box))


def _point(corner: Vector, box: Box) -> Box:
    """Return the box of one point: the corner, moved to a sum of 1 as far as the bounds allow."""
    point = frozen(fix_up(corner, box))
    return Box(point, point, exact_sum(point), is_point=True)


def _tighten(lower: Vector, upper: Vector, above: float, below: float) -> Box:
    """Apply the implied bounds upper <= lower + R and lower >= upper - R'; one pass is enough."""
    top = np.minimum(upper, shifted(lower, above, residual(1.0, np.append(lower, above))))
    bottom = np.maximum(lower, shifted(upper, -below, residual(1.0, np.append(upper, -below))))
    return Box(frozen(np.minimum(bottom, top)), frozen(top))


def shifted(values: Vector, high: float, low: float) -> Vector:
    """Return values + (high + low), rounded once, by Knuth's two-sum; plain addition would round the mass first."""
    total = values + high
    added = total - values
    error = (values - (total - added)) + (high - added)
    result: Vector = total + (error + low)
    return result


def _crossed(bounds: Bounds) -> InfeasibleRegion:
    """Explain floors above the caps of the same sources by the pair that is farthest apart."""
    gap = bounds.lower - bounds.upper
    i = int(np.argmax(gap))
    floor, cap = bounds.floor(i), bounds.cap(i)
    others = [bounds.names[j] for j in np.flatnonzero(gap > 0) if j != i]
    also = f" (the same holds for {', '.join(others)})" if others else ""
    raised = f"raise the cap to {floor.value:.12g}" if cap.kind == "cap" else f"admit {floor.source} again"
    lowered = f"lower the floor to {cap.value:.12g}" if cap.value else "drop the floor"
    what = f"{floor} lies {gap[i]:.6g} above {cap}{also}"
    return clashing(what, (floor, cap), float(gap[i]), f"{lowered} or {raised}")


def _floors_too_high(bounds: Bounds, excess: float) -> InfeasibleRegion:
    """Explain floors above 1 by the shortest run of largest floors that exceeds 1; every member of it is needed."""
    order = np.argsort(-bounds.lower, kind="stable")
    clash = [bounds.floor(int(i)) for i in order[: shortest(bounds.lower[order], 1.0, COMPUTED)]]
    total = exact_sum(np.array([bound.value for bound in clash]))
    what = f"{summing(clash, total)}more than 1"
    if len(clash) < np.count_nonzero(bounds.lower):
        what += f"; all floors sum to {1 + excess:.12g}"
    largest = clash[0]
    if largest.value >= excess:
        repair = f"lower floors by {excess:.6g} in total, for example {changed(largest, largest.value - excess)}"
    else:
        repair = f"lower floors by {excess:.6g} in total"
    return clashing(what, tuple(clash), excess, repair)


def _caps_too_low(bounds: Bounds, shortfall: float) -> InfeasibleRegion:
    """Explain caps below 1: every cap, exclusions included, takes part, and raising any one mends it."""
    clash = [bounds.cap(i) for i in range(len(bounds.names))]
    caps = [bound for bound in clash if bound.kind == "cap"]
    exclusions = [bound for bound in clash if bound.kind == "exclusion"]
    parts = [listed(caps)] if caps else []
    parts += [listed(exclusions)] if exclusions else []
    what = f"{' and '.join(parts)} leave room for {1 - shortfall:.12g}, less than 1"
    if not caps:
        return clashing(what, tuple(clash), shortfall, f"admit a source, for example {exclusions[0].source}")
    widest = max(caps, key=lambda bound: bound.value)
    repair = f"raise caps by {shortfall:.6g} in total, for example {changed(widest, widest.value + shortfall)}"
    return clashing(what, tuple(clash), shortfall, repair)


def clashing(what: str, clash: tuple[Bound, ...], excess: float, repair: str) -> InfeasibleRegion:
    """Return the error that says which bounds clash, by how much, and the smallest repair."""
    message = f"no weights satisfy the bounds: {what}. Smallest repair: {repair}."
    return InfeasibleRegion(message, clash=clash, excess=excess, repair=repair)


def changed(bound: Bound, value: float) -> str:
    """Return the words for moving a bound to another value."""
    return f"{bound.source} from {bound.value:.12g} to {max(value, 0.0):.12g}"


def shortest(falling: Vector, most: float, tolerance: float) -> int:
    """Return how many of the largest values (K,), falling, exceed `most` by more than a tolerance; K + 1 if none do.

    Sums of more values are never smaller, so that bisection finds the number.
    """
    return (
        bisect.bisect_left(
            range(1, len(falling) + 1), True, key=lambda count: -residual(most, falling[:count]) > tolerance
        )
        + 1
    )


def summing(bounds: list[Bound], total: float) -> str:
    """Return the start of a sentence: of several bounds that they sum to a total, of a single one that it is."""
    return f"{listed(bounds)} is " if len(bounds) == 1 else f"{listed(bounds)} sum to {total:.12g}, "


def listed(bounds: list[Bound], limit: int = 12) -> str:
    """Return bounds as one text, the first dozen of them."""
    shown = [str(bound) for bound in bounds[:limit]]
    if len(bounds) > limit:
        shown.append(f"{len(bounds) - limit} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
