"""The region of the moment: the stage's sources and every constraint set, cut from the simplex in order."""

from collections.abc import Sequence

import numpy as np

from andrea_core.contracts import ConstraintSet, Curriculum
from andrea_core.errors import AndreaError, InfeasibleRegion
from andrea_core.simplex import Region
from andrea_core.values import Context, Ledger, Sources, Stage, Vector


def region_of(
    stage: Stage, constraints: Sequence[ConstraintSet], context: Context, last: Vector | None
) -> tuple[Region, Vector]:
    """Return the region and the present weights (K,) in it.

    Sets that do not depend on the weights come first; the last weights, projected there (or the centre when there are
    none), are what the others see. Raises InfeasibleRegion that names the stage.
    """
    names = context.sources.names
    outside = () if stage.sources is None else tuple(name for name in names if name not in stage.sources)
    sets = [*constraints, *stage.constraints]
    try:
        region = Region.of(names, exclude=outside, reason=f"not a source of stage {stage.name!r}")
        for one in sets:
            if not one.around_weights:
                region = one.restrict(region, context)
        weights = region.centre if last is None else region.project(last)
        around = [one for one in sets if one.around_weights]
        for one in around:
            region = one.restrict(region, _around(context, weights))
        return region, region.project(weights) if around else weights
    except InfeasibleRegion as error:
        raise _in_stage(error, stage) from error


def stages(curriculum: Curriculum[object], state: object, steps: int) -> list[Stage]:
    """Return the stages that a curriculum plans when nothing happens to change its mind, each cut at `steps`."""
    found: list[Stage] = []
    step = 0
    while step < steps:
        stage = curriculum.stage(state, step)
        if stage.until <= step:
            raise AndreaError(
                f"stage {stage.name!r} ends at step {stage.until}, not after step {step}, where it is asked for"
            )
        found.append(Stage(stage.name, step, min(stage.until, steps), stage.sources, stage.constraints))
        step = stage.until
    return found


def preview(stage: Stage, constraints: Sequence[ConstraintSet], sources: Sources) -> Region:
    """Return the region at the start of a stage, before anything was drawn; raises InfeasibleRegion."""
    zero = np.zeros(len(sources), np.int64)
    context = Context(
        stage.start, 0, stage.name, stage.start, stage.until, sources, Ledger(zero, zero, zero.astype(float))
    )
    return region_of(stage, constraints, context, None)[0]


def _around(context: Context, weights: Vector) -> Context:
    import attrs

    return attrs.evolve(context, weights=weights)


def _in_stage(error: InfeasibleRegion, stage: Stage) -> InfeasibleRegion:
    error.args = (f"stage {stage.name!r} (from step {stage.start}) has no possible weights: {error}",)
    return error
