"""The pieces of a run as it was walked: when its stages really ended, and which bounds really held."""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

import attrs
import numpy as np

from andrea_core.plan import Plan
from andrea_core.scenario import Loaded
from andrea_core.simplex import Region
from andrea_core.simulator.optimum import SLICES, Optimum, Piece, gains_of, solve
from andrea_core.simulator.simulation import Simulation, Trace
from andrea_core.simulator.truth import Truth
from andrea_core.terrain import ROUNDING
from andrea_core.values import Stage, Vector


@attrs.frozen(eq=False)
class _Stretch:
    """Neighbouring phases [start, until) of one stage under one region."""

    stage: str
    region: Region
    start: int
    until: int


def judged(simulation: Simulation, planned: Optimum, trace: Trace) -> Optimum:
    """Return the optimum that a finished run is held to: the planned one where its stages and bounds came as planned.

    Else it is solved anew over the regions that were in force, so that no run can end below it but by whole rows.
    """
    truth, tokens = simulation.truth, simulation.tokens_per_step
    found = walked_pieces(simulation.loaded, truth, tokens, trace)
    return planned if _same(planned.pieces, found) else solve(truth, found)


def walked_pieces(loaded: Loaded, truth: Truth, tokens_per_step: int, trace: Trace) -> tuple[Piece, ...]:
    """Return the pieces of a run: cut where a stage ended, where the truth changed, and where bounds moved.

    Bounds that follow the walk (around the weights in force, passes over a source) are taken as if nothing had been
    drawn, and where the run was allowed more than that, as it was allowed. A stage whose bounds move from phase to
    phase is cut into at most `SLICES` parts, each under the least bounds that all of its phases keep: wide enough, so
    that the optimum is a bound.
    """
    starts = np.concatenate([[0], np.cumsum(trace.steps)]).astype(int)
    stretches: list[_Stretch] = []
    for _, group in groupby(enumerate(trace.walked), lambda one: (one[1].name, one[1].start)):
        stretches += _stretches(loaded, trace, [index for index, _ in group], starts)
    spans = [(one, a, b) for one in stretches for a, b in pairwise(truth.borders(one.start, one.until))]
    gains = gains_of(truth, [(a, b) for _, a, b in spans], tokens_per_step)
    return tuple(Piece(one.stage, a, b, one.region, gain) for (one, a, b), gain in zip(spans, gains, strict=True))


def _stretches(loaded: Loaded, trace: Trace, phases: Sequence[int], starts: Vector) -> Iterator[_Stretch]:
    """Yield the stretches of a stage's phases."""
    stage = trace.walked[phases[0]]
    regions = _regions(loaded, stage, [int(starts[index]) for index in phases])
    lower = np.minimum([region.lower for region in regions], trace.lower[phases] + _slack(trace.lower[phases]))
    upper = np.maximum([region.upper for region in regions], trace.upper[phases] - _slack(trace.upper[phases]))
    borders = _borders(lower, upper)
    for first, last in pairwise(borders):
        low, high = lower[first:last].min(0), upper[first:last].max(0)
        known = regions[first]
        fits = np.array_equal(low, known.lower) and np.array_equal(high, known.upper)
        region = known if fits else _box(known.names, low, high)
        yield _Stretch(stage.name, region, int(starts[phases[first]]), int(starts[phases[last - 1] + 1]))


def _slack(bounds: Vector) -> Vector:
    """Return rounding that is no wider bound; what is excluded stays so."""
    return np.where(bounds > 0, ROUNDING, 0.0)


def _borders(lower: Vector, upper: Vector) -> list[int]:
    """Return where the bounds (phases, K) change, with both ends; evenly spread places when they change too often."""
    moved = (np.diff(lower, axis=0) != 0).any(1) | (np.diff(upper, axis=0) != 0).any(1)
    borders = [0, *(np.flatnonzero(moved) + 1).tolist(), len(lower)]
    if len(borders) - 1 <= SLICES:
        return borders
    return [int(place) for place in np.unique(np.linspace(0, len(lower), SLICES + 1).astype(int))]


def _regions(loaded: Loaded, stage: Stage, steps: Sequence[int]) -> list[Region]:
    """Return the region at each of a stage's steps, without the sets around the present weights."""
    plan = Plan.of(loaded)
    fixed = [one for one in plan.scenario.constraints if not one.around_weights]
    kept = tuple(one for one in stage.constraints if not one.around_weights)
    still = attrs.evolve(stage, constraints=kept, until=min(stage.until, plan.scenario.run.steps))
    places = np.unique(np.linspace(0, len(steps) - 1, SLICES).astype(int))
    looks = [plan.region(still, steps[place], fixed) for place in places]
    if all(_equal(looks[0], one) for one in looks):
        return [looks[0]] * len(steps)
    return [plan.region(still, step, fixed) for step in steps]


def _box(names: tuple[str, ...], lower: Vector, upper: Vector) -> Region:
    """Return the region of bounds alone: it holds every region with tighter ones."""
    low = {name: float(bound) for name, bound in zip(names, lower, strict=True) if bound > 0}
    high = {name: float(bound) for name, bound in zip(names, upper, strict=True) if 0 < bound < 1}
    return Region.of(names, floors=low, caps=high, exclude=[n for n, b in zip(names, upper, strict=True) if b <= 0])


def _equal(one: Region, other: Region) -> bool:
    return np.array_equal(one.lower, other.lower) and np.array_equal(one.upper, other.upper)


def _same(planned: Sequence[Piece], found: Sequence[Piece]) -> bool:
    """Return whether two lists of pieces are the same program."""
    return len(planned) == len(found) and all(
        (one.start, one.until) == (other.start, other.until) and _equal(one.region, other.region)
        for one, other in zip(planned, found, strict=True)
    )
