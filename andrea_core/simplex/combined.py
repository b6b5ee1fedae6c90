"""Chooses the kind of region that stated bounds make: exact under groups, approximate where rows cut into it."""

import attrs

from andrea_core.simplex.bounds import Bounds
from andrea_core.simplex.feasibility import judge
from andrea_core.simplex.region import Region

_IMPLIED = 1e-12
"""A row that no weights break by more than this cuts nothing off."""


def region_of(stated: Bounds) -> Region:
    """Return the region of bounds that combine sources; raises InfeasibleRegion when they leave no weights.

    Where no row cuts into what the other bounds leave, all is exact: the region is that of these, and only states more.
    """
    if not stated.rows:
        return _grouped(stated)
    exact = _exact(stated)
    if not exact.is_point and not _cuts(stated, exact):
        return attrs.evolve(exact, stated=stated)
    from andrea_core.simplex.polytope.region import Polytope, survey

    return Polytope(stated, survey(stated))


def _grouped(stated: Bounds) -> Region:
    from andrea_core.simplex.groups.feasibility import judge as judge_groups
    from andrea_core.simplex.groups.region import GroupedRegion

    return GroupedRegion(stated, judge_groups(stated))


def _exact(stated: Bounds) -> Region:
    """Return the region without rows, and without groups where those that matter share sources."""
    single = attrs.evolve(stated, rows=(), groups=())
    if not stated.groups:
        return Region(single, judge(single))
    if stated.disjoint:
        return _grouped(attrs.evolve(stated, rows=()))
    plain = Region(single, judge(single))
    groups = tuple(one for one in stated.groups if _cuts(attrs.evolve(single, groups=(one,)), plain))
    mattering = attrs.evolve(single, groups=groups)
    return _grouped(mattering) if groups and mattering.disjoint else plain


def _cuts(stated: Bounds, exact: Region) -> bool:
    """Return whether a row, or a group that is no part of the exact region, cuts into it: its best vertices tell."""
    from andrea_core.simplex.polytope.lp import rows_of

    stated = attrs.evolve(stated, groups=tuple(one for one in stated.groups if one not in exact.stated.groups))
    rows = rows_of(stated)
    for row, low, high in zip(rows.matrix, rows.low, rows.high, strict=True):
        most, least = float(row @ exact.vertex(row)), float(row @ exact.vertex(-row))
        if most > high + _IMPLIED or least < low - _IMPLIED:
            return True
    return False
