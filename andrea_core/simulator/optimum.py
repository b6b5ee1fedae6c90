"""The best that weights could have done: a convex program over the stages' regions, with a certificate of its error."""

import math
from collections.abc import Sequence
from itertools import pairwise

import attrs
import numpy as np

from andrea_core.plan import Plan
from andrea_core.scenario import Loaded
from andrea_core.simplex import Region
from andrea_core.simulator.truth import Truth
from andrea_core.values import Stage, Vector

SLICES = 32
"""Parts into which a stage is cut whose bounds move from step to step."""
ROUNDS, CLOSE = 4000, 1e-8
"""Steps of the solver at most, and the gap, in nats, at which it stops."""


@attrs.frozen(eq=False)
class Piece:
    """A stretch of a run [start, until) under one region: `gain` (K, K) is the final progress by its mean weights."""

    stage: str
    start: int
    until: int
    region: Region
    gain: Vector


@attrs.frozen(eq=False)
class Optimum:
    """The smallest mean loss of the targets at the end that weights inside the regions can reach.

    `weights` (pieces, K) reach `loss`; no weights reach less than `loss - gap`: the Frank-Wolfe gap, which is exact
    because each piece's best vertex is.
    """

    pieces: tuple[Piece, ...]
    weights: Vector
    loss: float
    gap: float
    rounds: int

    def by_stage(self) -> dict[str, Vector]:
        """Return the optimal weights (K,) of each stage, averaged over its steps."""
        return stage_means([(p.stage, p.until - p.start) for p in self.pieces], self.weights)


def stage_means(spans: Sequence[tuple[str, float]], weights: Vector) -> dict[str, Vector]:
    """Return the mean weights (K,) of each stage, in order, given each row's stage and number of steps."""
    names = np.array([name for name, _ in spans])
    steps = np.array([span for _, span in spans], np.float64)
    return {
        name: steps[names == name] @ weights[names == name] / steps[names == name].sum()
        for name in dict.fromkeys(names.tolist())
    }


def pieces_of(loaded: Loaded, truth: Truth, tokens_per_step: int) -> tuple[Piece, ...]:
    """Return the pieces of a scenario: cut where a stage ends, where the truth changes, and where bounds move.

    Constraint sets that follow the walk (the weights in force, passes over a source) are left out. A curriculum that
    reacts and bounds that move within phases make of a run something else than the plan: `walked.judged` solves those
    anew.
    """
    plan = Plan.of(loaded)
    spans = [
        (stage, region, a, b)
        for stage in plan.stages
        for region, start, until in _regions(plan, stage)
        for a, b in _pairs(truth.borders(start, until))
    ]
    ends = [spans[i + 1][2] if i + 1 < len(spans) else plan.stages[-1].until for i in range(len(spans))]
    gains = gains_of(truth, [(span[2], end) for span, end in zip(spans, ends, strict=True)], tokens_per_step)
    return tuple(
        Piece(stage.name, a, end, region, gain)
        for (stage, region, a, _), end, gain in zip(spans, ends, gains, strict=True)
    )


def _regions(plan: Plan, stage: Stage) -> list[tuple[Region, int, int]]:
    """Return the regions of a stage with their steps: one, or several where its bounds move."""
    fixed = [one for one in plan.scenario.constraints if not one.around_weights]
    still = attrs.evolve(stage, constraints=tuple(one for one in stage.constraints if not one.around_weights))
    first, last = (plan.region(still, step, fixed) for step in (stage.start, stage.until - 1))
    if np.array_equal(first.lower, last.lower) and np.array_equal(first.upper, last.upper):
        return [(first, stage.start, stage.until)]
    borders = np.unique(np.linspace(stage.start, stage.until, SLICES + 1).astype(int)).tolist()
    return [(plan.region(still, (a + b) // 2, fixed), a, b) for a, b in _pairs(borders)]


def gains_of(truth: Truth, spans: Sequence[tuple[int, int]], tokens_per_step: int) -> list[Vector]:
    """Return the progress (K, K) left at the end by each span's weights: what is trained early is partly forgotten."""
    end, kept = spans[-1][1], truth.retention
    gains = []
    for start, until in spans:
        count = float(until - start)
        if kept < 1:
            left = math.log(kept)  # not 1 - kept^n: next to 1 that loses half of its digits
            count = math.expm1((until - start) * left) / (kept - 1) * math.exp((end - until) * left)
        gains.append(truth.teaching(start) * tokens_per_step * count)
    return gains


def _pairs(borders: Sequence[int]) -> list[tuple[int, int]]:
    return list(pairwise(borders))


def ended(pieces: Sequence[Piece], weights: Vector) -> Vector:
    """Return the progress (K,) at the end under weights (pieces, K)."""
    return np.asarray(sum(piece.gain @ row for piece, row in zip(pieces, weights, strict=True)))


def reached(truth: Truth, pieces: Sequence[Piece], weights: Vector) -> float:
    """Return the mean loss of the targets at the end under weights (pieces, K)."""
    return float(truth.mean(ended(pieces, weights)))


def solve(truth: Truth, pieces: Sequence[Piece], rounds: int = ROUNDS, close: float = CLOSE) -> Optimum:
    """Minimise the mean loss over weights in the pieces' regions.

    The loss is convex: a convex, falling power of a linear map. Accelerated projected gradient steps with an adaptive
    step length and restarts (Beck, Teboulle 2009; O'Donoghue, Candes 2015), each piece landed exactly by its region.
    """
    weights = np.stack([piece.region.centre for piece in pieces])
    best = _Point.at(truth, pieces, weights)
    ahead, pace, momentum = best, 1.0 / max(float(np.abs(best.gradient).max()), 1e-300), 1.0
    for done in range(rounds):
        if best.gap <= close:
            return Optimum(tuple(pieces), best.weights, best.loss, best.gap, done)
        following, pace = _descend(truth, pieces, ahead, pace)
        if following.loss >= best.loss:
            if ahead is best:  # nothing is left but rounding
                return Optimum(tuple(pieces), best.weights, best.loss, best.gap, done)
            momentum, ahead = 1.0, best
            continue
        grown = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        push = (momentum - 1) / grown
        ahead = _Point.at(truth, pieces, following.weights + push * (following.weights - best.weights))
        best, momentum, pace = following, grown, pace * 1.25
    return Optimum(tuple(pieces), best.weights, best.loss, best.gap, rounds)


@attrs.frozen(eq=False)
class _Point:
    """Weights (pieces, K), the loss there, its gradient, and the Frank-Wolfe gap for weights inside the regions."""

    weights: Vector
    loss: float
    gradient: Vector
    pieces: Sequence[Piece]

    @classmethod
    def at(cls, truth: Truth, pieces: Sequence[Piece], weights: Vector) -> "_Point":
        progress = np.maximum(ended(pieces, weights), 0.0)  # a point ahead may lie outside by a little
        pull = -truth.slope(progress) * truth.share
        gradient = np.stack([pull @ piece.gain for piece in pieces])
        return cls(weights, float(truth.mean(progress)), gradient, pieces)

    @property
    def gap(self) -> float:
        """By how much the loss could still fall at most: sum of <gradient, weights - best vertex>."""
        rows = zip(self.pieces, self.weights, self.gradient, strict=True)
        return float(sum(slope @ (row - piece.region.vertex(-slope)) for piece, row, slope in rows))


def _descend(truth: Truth, pieces: Sequence[Piece], point: _Point, pace: float) -> tuple[_Point, float]:
    """Return the point after one projected step, and the step length that the quadratic bound allowed."""
    while True:
        wished = point.weights - pace * point.gradient
        landed = np.stack([piece.region.project(row) for piece, row in zip(pieces, wished, strict=True)])
        moved = landed - point.weights
        found = _Point.at(truth, pieces, landed)
        allowed = point.loss + float((point.gradient * moved).sum()) + float((moved**2).sum()) / (2 * pace)
        if found.loss <= allowed + 1e-14 or pace < 1e-300:
            return found, pace
        pace /= 2
