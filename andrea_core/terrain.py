"""The region of the moment: the stage's sources and every constraint set, cut from the simplex in order."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from andrea_core.contracts import ConstraintSet
from andrea_core.errors import InfeasibleRegion
from andrea_core.guard import Blame, blaming
from andrea_core.model.pace import StageOptimizer
from andrea_core.simplex import Region
from andrea_core.values import Context, Sources, Stage, Vector

Accuse = Callable[[object], Blame]
"""Says whom to name when a component is at fault."""

ROUNDING = 1e-12
"""By how much bounds that were tightened anew may differ without having been widened."""


def region_of(
    stage: Stage, constraints: Sequence[ConstraintSet], context: Context, last: Vector | None, accuse: Accuse
) -> tuple[Region, Vector]:
    """Return the region and the present weights (K,) in it.

    Sets that do not depend on the weights come first, those that may drop a floor after those that state one; the
    last weights, projected there (or the centre when there are none), are what the others see. `accuse` says whom to
    blame for a set that raises or widens the region. Raises InfeasibleRegion that names the stage, PluginError.
    """
    names = context.sources.names
    outside = () if stage.sources is None else tuple(name for name in names if name not in stage.sources)
    sets = [*constraints, *stage.constraints]
    try:
        region = _open(names, outside, stage.name)
        for one in sorted((one for one in sets if not one.around_weights), key=lifts_floors):
            region = _cut(region, one, context, accuse(one))
        weights = region.centre if last is None else region.project(last)
        around = [one for one in sets if one.around_weights]
        for one in around:
            region = _cut(region, one, attrs.evolve(context, weights=weights), accuse(one))
        return region, region.project(weights) if around else weights
    except InfeasibleRegion as error:
        raise _in_stage(error, stage, context.step) from error


@lru_cache(maxsize=32)
def _open(names: tuple[str, ...], outside: tuple[str, ...], stage: str) -> Region:
    """Return the simplex of a stage's sources; the same one phase after phase, with all that it knows of itself."""
    return Region.of(names, exclude=outside, reason=f"not a source of stage {stage!r}")


def _cut(region: Region, one: ConstraintSet, context: Context, blame: Blame) -> Region:
    """Return what a constraint set leaves of a region; raises PluginError unless that lies inside it."""
    with blaming(blame):
        left = one.restrict(region, context)
    if not isinstance(left, Region) or left.names != region.names:
        raise blame.fault(f"returned {type(left).__name__}, which is no region over the same sources")
    # A floor that is dropped makes room for others: only what is stated tells whether a lifting set widened anything.
    after, before = (left.stated, region.stated) if lifts_floors(one) else (left, region)
    wider = (after.upper > before.upper + ROUNDING) | ((before.upper == 0) & (after.upper > 0))
    wider |= (after.lower < before.lower - ROUNDING) & ~(lifts_floors(one) & (after.upper == 0))
    if wider.any():
        source = int(np.flatnonzero(wider)[0])
        was, now = (f"[{r.lower[source]:.6g}, {r.upper[source]:.6g}]" for r in (region, left))
        raise blame.fault(
            f"widened the bounds of source {region.names[source]!r} from {was} to {now}; it may only shrink"
        )
    return left


def checked_stage(stage: Any, step: int, sources: Sources, blame: Blame) -> Stage:
    """Return a curriculum's stage, or raise PluginError when it is none, is over, or names sources unknown here."""
    if not isinstance(stage, Stage) or not isinstance(stage.name, str):
        raise blame.fault(f"returned {stage!r}, which is no Stage, for step {step}")
    if not isinstance(stage.until, int) or stage.until <= step:
        raise blame.fault(
            f"ends stage {stage.name!r} at step {stage.until}, not after step {step}, where it is asked for"
        )
    named = stage.sources
    if named is not None and (not isinstance(named, tuple) or not named or set(named) - set(sources.names)):
        raise blame.fault(f"gives stage {stage.name!r} the sources {named!r}, which are not some of the experiment's")
    if not isinstance(stage.constraints, tuple) or not all(
        callable(getattr(c, "restrict", None)) for c in stage.constraints
    ):
        raise blame.fault(f"gives stage {stage.name!r} constraints that are no constraint sets")
    if not isinstance(stage.reason, str):
        raise blame.fault(f"gives stage {stage.name!r} the reason {stage.reason!r}, which is no text")
    if stage.optimizer is not None and not isinstance(stage.optimizer, StageOptimizer):
        raise blame.fault(f"gives stage {stage.name!r} optimizer settings that are no StageOptimizer")
    return stage


def lifts_floors(one: ConstraintSet) -> bool:
    """Return whether a constraint set may drop floors of sources that it takes out: its `lifts_floors`, if it says."""
    return bool(getattr(one, "lifts_floors", False))


def _in_stage(error: InfeasibleRegion, stage: Stage, step: int) -> InfeasibleRegion:
    where = f"from step {stage.start}" + (f", seen at step {step}" if step != stage.start else "")
    error.args = (f"stage {stage.name!r} ({where}) has no possible weights: {error}",)
    return error
