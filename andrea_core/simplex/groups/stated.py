"""Group bounds: what the weights of several sources together may be, as stated, with their reasons."""

from collections.abc import Callable, Iterable, Sequence

import attrs

from andrea_core.errors import ScenarioError

SUM, AND = " + ", " and "


def _names(sources: Iterable[str]) -> tuple[str, ...]:
    return (sources,) if isinstance(sources, str) else tuple(sources)


@attrs.frozen
class Group:
    """A bound on the summed weight of several sources: between `at_least` and `at_most`, both in [0, 1]."""

    sources: tuple[str, ...] = attrs.field(converter=_names)
    at_least: float = 0.0
    at_most: float = 1.0


@attrs.frozen
class StatedGroup:
    """A group by the sorted places of its sources, with the reasons of its two bounds; empty where none was stated."""

    members: tuple[int, ...]
    at_least: float
    at_most: float
    least_reason: str = ""
    most_reason: str = ""

    def meet(self, other: "StatedGroup") -> "StatedGroup":
        """Return the intersection with another bound of the same group; the tighter side keeps its reason."""
        least = other if other.at_least > self.at_least else self
        most = other if other.at_most < self.at_most else self
        return StatedGroup(self.members, least.at_least, most.at_most, least.least_reason, most.most_reason)


def state(group: Group, reason: str, place: Callable[[str], int], number: Callable[[str, float], float]) -> StatedGroup:
    """Return a group with its sources by place; raises ScenarioError for no source or one that is named twice.

    `place` finds a source and `number` checks a bound; both raise ScenarioError.
    """
    label = SUM.join(group.sources)
    if not group.sources:
        raise ScenarioError("a group needs at least one source; name some")
    if len(set(group.sources)) < len(group.sources):
        raise ScenarioError(f"the group {label} names a source twice")
    least, most = number(label, group.at_least), number(label, group.at_most)
    members = tuple(sorted(place(name) for name in group.sources))
    return StatedGroup(
        members,
        least,
        most,
        reason or "group floor" if least > 0 else "",
        reason or "group cap" if most < 1 else "",
    )


def joined(
    stated: Sequence[StatedGroup], added: Iterable[StatedGroup], names: Sequence[str], disjoint: bool
) -> tuple[StatedGroup, ...]:
    """Return the groups with further ones; equal groups are intersected.

    Raises ScenarioError for groups that share some of their sources, when they must be disjoint.
    """
    found = {group.members: group for group in stated}
    for group in added:
        if group.members in found:
            found[group.members] = found[group.members].meet(group)
            continue
        if disjoint:
            _refuse_overlap(group, found.values(), names)
        found[group.members] = group
    return tuple(found.values())


def _refuse_overlap(group: StatedGroup, others: Iterable[StatedGroup], names: Sequence[str]) -> None:
    for other in others:
        shared = set(group.members) & set(other.members)
        if shared:
            first, second = (SUM.join(names[i] for i in one.members) for one in (other, group))
            common = AND.join(names[i] for i in sorted(shared))
            raise ScenarioError(
                f"the groups {first} and {second} share {common}; group bounds must not overlap: state both in the "
                "constraint set 'linear', which takes any linear bound"
            )
