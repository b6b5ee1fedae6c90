"""The conformance check of constraint sets: they only ever shrink a region."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from andrea_core.contracts import ConstraintSet
from andrea_core.errors import InfeasibleRegion
from andrea_core.simplex import Region
from andrea_core.terrain import lifts_floors
from andrea_core.testing.calls import call, check_settings, fail
from andrea_core.testing.worlds import NAMES, draw_region, frozen, make_context, make_sources
from andrea_core.values import Context


def check_constraint_set(
    constraint: ConstraintSet, names: Sequence[str] = NAMES, tries: int = 24, seed: int = 0
) -> None:
    """Raise AssertionError, saying why, unless the constraint set keeps its contract on the simplex and random regions.

    Checked: it returns a region of the same sources, inside the given one; equal inputs give equal regions; the whole
    simplex, at least, is left with a point. A set with `lifts_floors = True` may drop the floor of a source that it
    excludes. On a narrower region it may raise InfeasibleRegion.
    """
    check_settings(constraint, "restrict")
    if not isinstance(getattr(constraint, "around_weights", None), bool):
        fail(constraint, "around_weights", "must be True (depends on the present weights, applied last) or False")
    rng = np.random.default_rng(seed)
    regions = [Region.of(tuple(names)), *(draw_region(names, rng) for _ in range(tries))]
    feasible = [_check_one(constraint, region, phase, rng) for phase, region in enumerate(regions)]
    if not feasible[0]:
        fail(constraint, "restrict", "leaves nothing even of the whole simplex; no scenario could use it")


def _check_one(constraint: ConstraintSet, region: Region, phase: int, rng: np.random.Generator) -> bool:
    """Return whether the constraint left anything of the region."""
    weights = frozen(np.array(region.centre)) if constraint.around_weights else None
    context = make_context(make_sources(region.names), phase, rng, weights)
    try:
        first, second = (call(constraint, "restrict", region, context, passing=InfeasibleRegion) for _ in range(2))
    except InfeasibleRegion:
        return False
    _check_inside(constraint, first, region, context)
    if (first.lower != second.lower).any() or (first.upper != second.upper).any():
        fail(constraint, "restrict", "equal region and context gave another region; use nothing but these")
    return True


def _check_inside(constraint: ConstraintSet, inner: Any, outer: Region, context: Context) -> None:
    if not isinstance(inner, Region) or inner.names != outer.names:
        fail(constraint, "restrict", "must return a region of the same sources; make it by `region.restrict(...)`")
    bounds = zip(
        outer.names, inner.stated.lower, outer.stated.lower, inner.stated.upper, outer.stated.upper, strict=True
    )
    for name, floor, old_floor, cap, old_cap in bounds:
        lifted = cap == 0 and lifts_floors(constraint)
        if (floor < old_floor and not lifted) or cap > old_cap:
            fail(
                constraint,
                "restrict",
                f"widened source {name!r} from [{old_floor}, {old_cap}] to [{floor}, {cap}]; a constraint set only "
                "shrinks the region it is given: use `region.restrict(...)`, not `Region.of(...)`",
            )
