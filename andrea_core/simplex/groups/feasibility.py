"""Whether bounds and group bounds leave any weights, the windows of the group totals if so, a clash if not."""

import attrs
import numpy as np

from andrea_core.simplex import feasibility
from andrea_core.simplex.bounds import Bounds
from andrea_core.simplex.box import PINNED, Box, exact_sum, frozen, residual
from andrea_core.simplex.feasibility import COMPUTED, Verdict
from andrea_core.simplex.fixup import fix_up
from andrea_core.simplex.groups.box import Groups, Part, bounded
from andrea_core.simplex.groups.centres import relative
from andrea_core.simplex.groups.clashes import refuse
from andrea_core.values import Vector


@attrs.frozen(eq=False)
class GroupVerdict(Verdict):
    """A feasible set of bounds and group bounds: its box, and its parts."""

    groups: Groups = attrs.field(kw_only=True)


def judge(bounds: Bounds) -> GroupVerdict:
    """Return the box and the windows of feasible bounds; raises InfeasibleRegion with the smallest clash otherwise.

    Feasible iff in each group the larger of its floor and its sources' floors is at most the smaller of its cap and its
    sources' caps, and the sum of the former over all groups is at most 1, that of the latter at least 1.
    """
    refuse(bounds, COMPUTED)
    plain = feasibility.judge(bounds)
    box = plain.box
    parts = _windows(bounds, box)
    if box.is_point:
        return GroupVerdict(box, plain.rounding, groups=Groups(box, parts))
    parts = _tighten(parts)
    groups = Groups(bounded(box, parts), parts)
    if groups.dimension == 0:
        point = frozen(relative(groups))
        groups = Groups(Box(point, point, exact_sum(point), is_point=True), parts)
    return GroupVerdict(groups.box, groups=groups)


def _windows(bounds: Bounds, box: Box) -> tuple[Part, ...]:
    """Return the parts with what group bounds and sources allow their totals; the sources of no group come last.

    Group bounds that were computed may miss what their sources allow by rounding; they give way by that much.
    """
    parts = []
    for group in bounds.groups:
        members = np.array(group.members, dtype=np.int64)
        floors, caps = exact_sum(box.lower[members]), exact_sum(box.upper[members])
        at_most = max(group.at_most, floors)
        at_least = min(group.at_least, caps, at_most)
        parts.append(Part(members, max(at_least, floors), min(at_most, caps), at_least, at_most))
    named = [i for group in bounds.groups for i in group.members]
    others = np.setdiff1d(np.arange(len(bounds.names)), named)
    if len(others):
        parts.append(Part(others, exact_sum(box.lower[others]), exact_sum(box.upper[others])))
    return tuple(_meeting(parts))


def _meeting(parts: list[Part]) -> list[Part]:
    """Return the parts with a group bound moved by rounding, where the totals would else miss a sum of 1."""
    lows, highs = (np.array([getattr(part, side) for part in parts]) for side in ("low", "high"))
    excess, missing = -residual(1.0, lows), residual(1.0, highs)
    if exact_sum(lows) > 1.0:
        k = max(range(len(parts)), key=lambda k: parts[k].at_least)
        at_least = parts[k].at_least - excess
        parts[k] = attrs.evolve(parts[k], low=min(parts[k].low, at_least), at_least=at_least)
    if exact_sum(highs) < 1.0:
        k = min(range(len(parts)), key=lambda k: parts[k].at_most)
        at_most = parts[k].at_most + missing
        parts[k] = attrs.evolve(parts[k], high=max(parts[k].high, at_most), at_most=at_most)
    return parts


def _tighten(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Apply the bounds that the windows imply for each other."""
    lows, highs = (np.array([getattr(part, side) for part in parts]) for side in ("low", "high"))
    above, below = residual(1.0, lows), -residual(1.0, highs)
    if min(above, below) <= PINNED:
        lows = highs = fix_up(lows if above <= below else highs, Box(lows, highs))
    else:
        lows, highs = _implied(lows, highs, above, below)
    return tuple(
        attrs.evolve(part, low=float(low), high=float(high)) for part, low, high in zip(parts, lows, highs, strict=True)
    )


def _implied(lows: Vector, highs: Vector, above: float, below: float) -> tuple[Vector, Vector]:
    top = np.minimum(highs, lows + above)
    return np.minimum(np.maximum(lows, highs - below), top), top
