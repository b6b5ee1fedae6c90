"""Chooses the kind of region that stated bounds make: with group bounds exact, with rows of any kind approximate."""

from andrea_core.simplex.bounds import Bounds
from andrea_core.simplex.region import Region


def region_of(stated: Bounds) -> Region:
    """Return the region of bounds that combine sources; raises InfeasibleRegion when they leave no weights."""
    if stated.rows:
        from andrea_core.simplex.polytope.region import Polytope, survey

        return Polytope(stated, survey(stated))
    from andrea_core.simplex.groups.feasibility import judge
    from andrea_core.simplex.groups.region import GroupedRegion

    return GroupedRegion(stated, judge(stated))
