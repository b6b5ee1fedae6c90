"""Graves' automated curriculum: EXP3.S on learning progress rescaled to [-1, 1] (Graves et al. 2017, 1704.03003)."""

import math
from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Proposal, Sources, Vector, fraction, number, positive
from andrea_plugins.policies.estimates import importance
from andrea_plugins.policies.mixing import LARGEST, heard, lowered, smoothed, softmax
from andrea_plugins.policies.reservoir import Reservoir

STEEPEST = 50.0
"""The largest change of a log-weight in one update."""


@attrs.frozen(eq=False)
class Progress:
    """Log-weights of the sources, updates so far, and the rewards that the quantiles are taken from."""

    log_weights: Vector  # (K,) the largest is 0
    turn: int
    rewards: Reservoir


@attrs.frozen
class Graves:
    """Propose (1 - epsilon) softmax(w) + epsilon / K, with log-weights w moved by rescaled learning progress.

    Source: Graves, Bellemare, Menick, Munos, Kavukcuoglu 2017, 1704.03003, section 3 (EXP3.S, Auer et al. 2002): v_i
    = w_i + eta (r_i + beta) / p_i, then w_i = ln((1 - a) e^(v_i) + a / (K - 1) sum over j != i of e^(v_j)) with a = 1
    / t.
    Rewards are mapped so that the quantiles `low` and `high` of those so far become -1 and 1, and clipped there.
    Reward: any scale and sign; the progress signal is what the scenario names (`prediction_gain` is the paper's
    first).
    Pull model: mixed batch; r_i counts share_i / p_i, p the probability that landed, which is r_i / p_i for a phase
    of one source and r_i itself when every source is drawn in proportion.
    Unseen sources: no reward, so only the sharing term a (and beta) moves them.
    Departures: the reservoir is an even subsample instead of a random one; one update a phase; a log-weight moves by
    at most 50 an update and stays within 100 of the largest; rewards are not divided by a source's cost per token, as
    all cost the same here. No code of the authors is public.
    """

    eta: float = positive(default=1e-3)
    beta: float = number(default=0.0, at_least=0)
    epsilon: float = fraction(default=0.05)
    low: float = fraction(default=0.2)
    high: float = fraction(default=0.8)
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits((-math.inf, math.inf), "mixed", "moved by the sharing term alone")

    def __attrs_post_init__(self) -> None:
        """Raise ValueError unless low < high."""
        if not self.low < self.high:
            raise ValueError(f"low must be less than high, got low = {self.low:g} and high = {self.high:g}")

    def start(self, sources: Sources) -> Progress:
        """Return equal log-weights and an empty reservoir."""
        return Progress(np.zeros(len(sources)), 0, Reservoir.empty())

    def propose(self, state: Progress, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return the mixture (K,) over the active sources; note `log_weight`, NaN where excluded."""
        weights = smoothed(softmax(state.log_weights, moment.active), self.epsilon, moment.active)
        return Proposal(weights, notes={"log_weight": np.where(moment.active, state.log_weights, np.nan)})

    def update(self, state: Progress, outcome: Outcome) -> Progress:
        """Return the log-weights after the phase's rewards, which join the reservoir first."""
        heard_now = heard(outcome, "reward")
        rewards = state.rewards.offer(heard_now[outcome.seen])
        scaled = np.where(outcome.seen, rewards.rescaled(np.nan_to_num(heard_now), self.low, self.high), 0.0)
        bias = np.where(outcome.weights > 0, min(self.beta, LARGEST) / np.maximum(outcome.weights, 1e-12), 0.0)
        gain = np.clip(min(self.eta, LARGEST) * (importance(outcome) * scaled + bias), -STEEPEST, STEEPEST)
        turn = state.turn + 1
        return Progress(shared(state.log_weights + gain, 1.0 / (turn + 1)), turn, rewards)


def shared(log_weights: Vector, part: float) -> Vector:
    """Return log-weights (K,) after each source gave `part` of its weight to the others, evenly; the largest is 0."""
    count = len(log_weights)
    if count == 1:
        return np.zeros(1)
    weights = np.exp(lowered(log_weights))
    others = weights.sum() - weights
    mixed = (1.0 - part) * weights + part / (count - 1) * np.maximum(others, 0.0)
    return lowered(np.log(mixed))
