"""What a simulated run comes to: regret, steps to a target, shares, and the same mix without its order."""

from collections.abc import Mapping, Sequence

import attrs
import numpy as np

from andrea_core.simulator.optimum import Optimum, Piece, ended, reached, stage_means
from andrea_core.simulator.simulation import Trace
from andrea_core.simulator.truth import Truth
from andrea_core.values import Vector


@attrs.frozen
class Verdict:
    """One run against the best possible: losses are means over the target sources at the end, in nats a token.

    `regret` is `loss` less the optimum's; `static_regret` that of a run which holds, in each stage, the mean weights
    that this run had there. `target` is what uniform weights end with, `steps_to_target` the steps until the loss was
    first as low, None if it never was, not even at the end to within `grain`. `noise_share` is the pure-noise sources'
    share of all rows, NaN without any.
    """

    loss: float
    regret: float
    static_regret: float
    target: float
    steps_to_target: int | None
    noise_share: float


def verdict(truth: Truth, optimum: Optimum, trace: Trace) -> Verdict:
    """Return what a finished run comes to."""
    target = reached(truth, optimum.pieces, uniform(optimum.pieces))
    static = reached(truth, optimum.pieces, held(optimum.pieces, mean_weights(trace)))
    known = truth.pure_noise.any()
    return Verdict(
        loss=trace.final,
        regret=trace.final - optimum.loss,
        static_regret=static - optimum.loss,
        target=target,
        steps_to_target=first_at(trace.mean, target, grain(truth, optimum.pieces, trace)),
        noise_share=float(trace.shares[truth.pure_noise].sum()) if known else float("nan"),
    )


def mean_weights(trace: Trace) -> dict[str, Vector]:
    """Return the mean weights (K,) of each stage, over its steps."""
    return stage_means(list(zip(trace.stages, trace.steps.tolist(), strict=True)), trace.weights)


def held(pieces: Sequence[Piece], by_stage: Mapping[str, Vector]) -> Vector:
    """Return weights (pieces, K) that stay at each stage's own, landed where a piece's region has no room for them.

    A stage that a curriculum never reached takes the weights of the last one before it.
    """
    rows: list[Vector] = []
    last = next(iter(by_stage.values()))
    for piece in pieces:
        last = by_stage.get(piece.stage, last)
        rows.append(piece.region.project(last))
    return np.stack(rows)


def uniform(pieces: Sequence[Piece]) -> Vector:
    """Return weights (pieces, K) that are as equal as each piece's region allows, over the sources that are open."""
    rows = []
    for piece in pieces:
        active = piece.region.upper > 0
        rows.append(piece.region.project(active / active.sum()))
    return np.stack(rows)


def grain(truth: Truth, pieces: Sequence[Piece], trace: Trace) -> float:
    """Return by how much of the loss equal weights may miss their own end, in nats: rows are whole.

    Each source's rows are its weight's part rounded up or down: what misses is at most a row of every source.
    """
    last = pieces[-1]
    pull = truth.slope(ended(pieces, uniform(pieces))) * truth.share
    rows = trace.rows.sum() / trace.steps.sum() * (last.until - last.start)
    return float((pull @ last.gain).sum() / rows)


def first_at(mean: Vector, target: float, within: float) -> int | None:
    """Return the number of finished steps after which a loss (steps + 1,) first is at a target or below.

    A loss that ends `within` so much of the target is at it at the end.
    """
    low = np.flatnonzero(mean <= target)
    if len(low):
        return int(low[0])
    return len(mean) - 1 if mean[-1] <= target + within else None
