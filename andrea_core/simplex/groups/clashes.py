"""Explains group bounds that leave no weights: the smallest clash, by how much, the smallest repair."""

from collections.abc import Sequence

import attrs
import numpy as np

from andrea_core.errors import InfeasibleRegion
from andrea_core.simplex.bounds import Bound, Bounds
from andrea_core.simplex.box import exact_sum
from andrea_core.simplex.feasibility import changed, clashing, listed, shortest, summing
from andrea_core.simplex.groups.stated import StatedGroup
from andrea_core.values import Vector


@attrs.frozen
class Lever:
    """A bound that counts, and how far it can be moved before another one takes its place."""

    bound: Bound
    reach: float


def refuse(bounds: Bounds, tolerance: float) -> None:
    """Raise InfeasibleRegion if the group bounds clash, with each other or with bounds of sources, beyond a tolerance.

    Clashes among bounds of single sources alone are not looked for here.
    """
    for group in bounds.groups:
        _within(bounds, group, tolerance)
    floors = _floors(bounds)
    clash = _shortest([lever.bound for lever in floors], _group_floors_first(bounds), tolerance)
    if clash:
        raise _too_high(clash, floors)
    caps = _caps(bounds)
    room = exact_sum(_values([lever.bound for lever in caps]))
    if room < 1.0 - tolerance and any(lever.bound.kind == "group cap" for lever in caps):
        raise _too_low(caps, room)


def _within(bounds: Bounds, group: StatedGroup, tolerance: float) -> None:
    """Refuse a group whose floor and cap cross, or whose bounds its own sources cannot meet."""
    floor, cap = bounds.group_floor(group), bounds.group_cap(group)
    if group.at_least > group.at_most + tolerance:
        excess = group.at_least - group.at_most
        repair = f"lower the floor of the group to {cap.value:.12g} or raise its cap to {floor.value:.12g}"
        raise clashing(f"{floor} lies {excess:.6g} above {cap}", (floor, cap), excess, repair)
    members = list(group.members)
    room, own = exact_sum(bounds.upper[members]), exact_sum(bounds.lower[members])
    if group.at_least > room + tolerance:
        raise _floor_too_high(floor, [bounds.cap(i) for i in members], room)
    if own > group.at_most + tolerance:
        raise _cap_too_low(cap, _prefix([bounds.floor(i) for i in members], group.at_most, tolerance), own)


def _floor_too_high(floor: Bound, caps: list[Bound], room: float) -> InfeasibleRegion:
    missing = floor.value - room
    repair = f"lower the floor of the group to {room:.12g}, or raise caps in it by {missing:.6g} in total"
    repair += _example([Lever(bound, 1.0 - bound.value) for bound in caps if bound.kind == "cap"], missing)
    what = f"{listed(caps)} leave room for {room:.12g}, less than {floor}"
    return clashing(what, (floor, *caps), missing, repair)


def _cap_too_low(cap: Bound, floors: list[Bound], own: float) -> InfeasibleRegion:
    excess = own - cap.value
    repair = f"raise the cap of the group to {own:.12g}, or lower floors in it by {excess:.6g} in total"
    repair += _example([Lever(bound, bound.value) for bound in floors], -excess)
    what = f"{summing(floors, exact_sum(_values(floors)))}more than {cap}"
    return clashing(what, (*floors, cap), excess, repair)


def _too_high(clash: list[Bound], floors: list[Lever]) -> InfeasibleRegion:
    excess = exact_sum(_values([lever.bound for lever in floors])) - 1
    repair = f"lower floors by {excess:.6g} in total"
    repair += _example([lever for lever in floors if lever.bound in clash], -excess)
    what = f"{summing(clash, exact_sum(_values(clash)))}more than 1"
    if len(clash) < sum(lever.bound.value > 0 for lever in floors):
        what += f"; all floors that count sum to {1 + excess:.12g}"
    return clashing(what, tuple(clash), excess, repair)


def _too_low(caps: list[Lever], room: float) -> InfeasibleRegion:
    clash, missing = [lever.bound for lever in caps], 1 - room
    repair = f"raise caps by {missing:.6g} in total"
    repair += _example([lever for lever in caps if lever.bound.kind != "exclusion"], missing)
    what = f"{listed(clash)} leave room for {room:.12g}, less than 1"
    return clashing(what, tuple(clash), missing, repair)


def _example(levers: list[Lever], change: float) -> str:
    """Return one bound that mends it alone, the one with most reach, if there is any."""
    best = max(levers, key=lambda lever: lever.reach, default=None)
    if best is None or best.reach < abs(change):
        return ""
    return f", for example {changed(best.bound, best.bound.value + change)}"


def _floors(bounds: Bounds) -> list[Lever]:
    """Return the floors that count: of each group its own or those of its sources, whichever are higher."""
    found = []
    for group in bounds.groups:
        own = exact_sum(bounds.lower[list(group.members)])
        floors = [bounds.floor(i) for i in group.members]
        if group.at_least > own:
            found.append(Lever(bounds.group_floor(group), group.at_least - own))
        else:
            found += [Lever(bound, min(bound.value, own - group.at_least)) for bound in floors]
    return found + [Lever(bound, bound.value) for bound in map(bounds.floor, _others(bounds))]


def _group_floors_first(bounds: Bounds) -> list[Bound]:
    """Return the floors of the groups, one each, and those of the other sources: fewer bounds, weaker ones."""
    return [bounds.group_floor(group) for group in bounds.groups] + [bounds.floor(i) for i in _others(bounds)]


def _caps(bounds: Bounds) -> list[Lever]:
    """Return the caps that count: of each group its own or those of its sources, whichever are lower."""
    found = []
    for group in bounds.groups:
        own = exact_sum(bounds.upper[list(group.members)])
        caps = [bounds.cap(i) for i in group.members]
        if group.at_most < own:
            found.append(Lever(bounds.group_cap(group), own - group.at_most))
        else:
            found += [Lever(bound, min(1.0 - bound.value, group.at_most - own)) for bound in caps]
    return found + [Lever(bound, 1.0 - bound.value) for bound in map(bounds.cap, _others(bounds))]


def _others(bounds: Bounds) -> list[int]:
    named = {i for group in bounds.groups for i in group.members}
    return [i for i in range(len(bounds.names)) if i not in named]


def _shortest(one: Sequence[Bound], other: Sequence[Bound], tolerance: float) -> list[Bound]:
    """Return the shorter clash of two lists of floors, empty when neither exceeds 1 or no group takes part."""
    found = [_prefix(floors, 1.0, tolerance) for floors in (one, other)]
    clashes = [clash for clash in found if any(bound.kind == "group floor" for bound in clash)]
    return min(clashes, key=len, default=[])


def _prefix(floors: Sequence[Bound], most: float, tolerance: float) -> list[Bound]:
    """Return the shortest run of largest floors whose sum exceeds `most`, empty if none does."""
    falling = sorted(floors, key=lambda bound: -bound.value)
    count = shortest(_values(falling), most, tolerance)
    return falling[:count] if count <= len(falling) else []


def _values(bounds: Sequence[Bound]) -> Vector:
    return np.array([bound.value for bound in bounds], dtype=np.float64)
