"""The conformance check of constraint sets: they only ever shrink a region."""

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from andrea_core.contracts import ConstraintSet
from andrea_core.errors import InfeasibleRegion, ScenarioError
from andrea_core.simplex import Region
from andrea_core.terrain import lifts_floors
from andrea_core.testing.calls import call, check_settings, fail
from andrea_core.testing.crowds import alone, crowd, field
from andrea_core.testing.exploring import explore
from andrea_core.testing.growth import MANY, check_growth
from andrea_core.testing.worlds import NAMES, frozen, make_context, make_sources
from andrea_core.values import Context

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject


def check_constraint_set(
    constraint: ConstraintSet, names: Sequence[str] = NAMES, examples: int = 40, seed: int = 0, many: int = MANY
) -> None:
    """Raise AssertionError, saying why, unless the constraint set keeps its contract on the simplex and drawn regions.

    Hypothesis draws `examples` regions from the public strategies, single points among them, each at a random time of a
    run. Checked: it returns a region of the same sources, inside the given one; equal inputs give equal regions; the
    whole simplex, at least, is left with a point. A set with `lifts_floors = True` may drop the floor of a source that
    it excludes. On a narrower region it may raise InfeasibleRegion. Then the same of one source alone and of `many`,
    where the settings go with them (no ScenarioError), and that its work and memory do not grow with the square of the
    number of sources; a set of groups or rows, whose regions cost the core more than that, is tried with a smaller
    `many`, which leaves the growth out.
    """
    check_settings(constraint, "restrict")
    if not isinstance(getattr(constraint, "around_weights", None), bool):
        fail(constraint, "around_weights", "must be True (depends on the present weights, applied last) or False")
    names, rng = tuple(names), np.random.default_rng(seed)
    if not _check_one(constraint, Region.of(names), 0, rng):
        fail(constraint, "restrict", "leaves nothing even of the whole simplex; no scenario could use it")
    explore(lambda data: _check_drawn(constraint, names, data), examples, seed)
    if many >= MANY and _accepts(constraint, crowd(names, ())):
        check_growth(constraint, "restrict", lambda count: _work(constraint, crowd(names, (), count)))
    for some in (alone(names), crowd(names, (), many)):
        if _accepts(constraint, some):
            _check_one(constraint, field(some), 0, rng)


def _check_drawn(constraint: ConstraintSet, names: tuple[str, ...], data: "DataObject") -> None:
    from hypothesis import strategies as st

    from andrea_core.testing.geometry import regions_of

    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    _check_one(constraint, data.draw(regions_of(names)), data.draw(st.integers(0, 50)), rng)


def _accepts(constraint: ConstraintSet, names: tuple[str, ...]) -> bool:
    """Return whether the settings go with these sources: others are refused by a ScenarioError."""
    try:
        constraint.restrict(field(names), _context(constraint, field(names), 0, np.random.default_rng(0)))
    except ScenarioError:
        return False
    except Exception:  # whatever else is wrong, the check that follows says it
        return True
    return True


def _context(constraint: ConstraintSet, region: Region, phase: int, rng: np.random.Generator) -> Context:
    weights = frozen(np.array(region.centre)) if constraint.around_weights else None
    return make_context(make_sources(region.names), phase, rng, weights)


def _work(constraint: ConstraintSet, names: tuple[str, ...]) -> Callable[[], object]:
    """Return the call, its world made beforehand; a region that is left without a point is an answer too."""
    region = field(names)
    context = _context(constraint, region, 0, np.random.default_rng(0))

    def calls() -> None:
        with contextlib.suppress(InfeasibleRegion):
            constraint.restrict(region, context)

    return calls


def _check_one(constraint: ConstraintSet, region: Region, phase: int, rng: np.random.Generator) -> bool:
    """Return whether the constraint left anything of the region."""
    context = _context(constraint, region, phase, rng)
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
