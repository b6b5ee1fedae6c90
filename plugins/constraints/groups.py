"""Groups: bounds on the summed weight of several sources together, such as all chat at one half or more."""

from typing import Any, ClassVar

import attrs

from andrea_core import Context, Group, Region, check_sources, fraction, source_names


def _some(_instance: Any, _attribute: "attrs.Attribute[Any]", sources: tuple[str, ...]) -> None:
    if not sources:
        raise ValueError("a group needs at least one source")
    for name in sources:
        if sources.count(name) > 1:
            raise ValueError(f"the group names source {name!r} twice")


@attrs.frozen
class GroupBound:
    """One group: its sources, and the least and the most that they may have together."""

    sources: tuple[str, ...] = source_names(validator=_some)
    at_least: float = fraction(default=0.0)
    at_most: float = fraction(default=1.0)

    def __attrs_post_init__(self) -> None:
        if self.at_least > self.at_most:
            raise ValueError(f"at_least {self.at_least!r} is more than at_most {self.at_most!r}")


def _disjoint(_instance: Any, attribute: "attrs.Attribute[Any]", groups: tuple[GroupBound, ...]) -> None:
    if not groups:
        raise ValueError(f"{attribute.name} needs at least one group")
    seen: set[str] = set()
    for group in groups:
        for name in group.sources:
            if name in seen:
                raise ValueError(f"source {name!r} is in two groups; overlapping groups go into the set 'linear'")
        seen.update(group.sources)


@attrs.frozen
class Groups:
    """Keep the summed weight of each group between its bounds; within them, and outside, sources are free.

    Source: none published; ANDREA's own runs bound single sources. Every method of the region stays exact. Groups must
    not overlap, nor may those of two sets, unless they are equal: then both bounds hold. Unseen sources count like any
    other, and sources that are excluded count as 0.
    """

    groups: tuple[GroupBound, ...] = attrs.field(validator=_disjoint)
    around_weights: ClassVar[bool] = False

    def restrict(self, region: Region, context: Context) -> Region:
        """Return the region's part within the group bounds; raises ScenarioError for a name that is no source."""
        for group in self.groups:
            check_sources(group.sources, context.sources, f"groups of stage {context.stage!r}")
        bounds = tuple(Group(group.sources, group.at_least, group.at_most) for group in self.groups)
        return region.restrict(groups=bounds, reason=f"stage {context.stage!r}")
