"""ODM, online data mixing: weights that follow the losses, uniform at first (Albalak et al. 2023, 2312.02406)."""

import math
from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Proposal, Sources, Vector, fraction, one_of, span
from andrea_plugins.policies.mixing import (
    Mask,
    heard,
    logarithm,
    masked,
    needed,
    optional_weights,
    prior_of,
    softmax,
    uniform,
)

LEAST = 1e-12
"""The smallest probability that a loss is divided by."""


@attrs.frozen(eq=False)
class Estimates:
    """How often weights were updated, and the estimated reward of each source: its logarithm in mode "released"."""

    turn: int
    value: Vector  # (K,)


@attrs.frozen
class Odm:
    """Propose (1 - K e_t) softmax(e_(t-1) R) + e_t with e_t = min(1/K, sqrt(ln K / (K t))), after t phases.

    Source: Albalak et al. 2023, 2312.02406, algorithm 1: EXP3 with an exploration share that shrinks. K counts the
    sources that may receive mass. **Exactly uniform while t <= K ln K**: 44 phases for 16 sources, 68 for 22; with
    long phases that can be a whole small run.
    Modes: "paper", R <- a R + (1 - a) L / p with a = `smoothing`. "released", the branch that the authors ran: R is
    the moving average of exp(L), without 1 / p, and the softmax is R / sum R. "exp3", their other branch: R <- R + L
    / (10 p), never forgetting; with signal "heldout" it is also DataFlex's first form.
    p is the probability that **landed** (`outcome.weights`), never the one proposed. It counts as at least 1e-12.
    Signal: the mean training loss L in nats a token, as in the paper; or "heldout", or the scenario's "reward".
    Reward: none by default; a bounded one, 0 to about 10, in "exp3".
    Pull model: mixed batch, one update a phase.
    Unseen sources: no update, as in the paper; a source without weight is not updated either.
    `warmup` steps keep the weights `initial` (uniform without a table); estimates are learnt meanwhile.
    Departures: one update a phase instead of one a step; no division by less than 1e-12; losses are read as at most
    1e6.
    The authors' code, next to the modes: warms up 2,000 steps without learning, and its exp can overflow. DataFlex's
    later form (average .9, losses scaled by 15, at least .03 a source, exponents clipped) is not reproduced.
    """

    mode: str = one_of("paper", "released", "exp3", default="paper")
    signal: str = one_of("training", "heldout", "reward", default="training")
    smoothing: float = fraction(default=0.5)
    warmup: int = span(default=0, at_least=0)
    initial: Mapping[str, float] = optional_weights()
    traits: ClassVar[PolicyTraits] = PolicyTraits(None, "mixed", "no update")

    @property
    def needs(self) -> frozenset[str]:
        """The held-out loss, if that is the signal."""
        return needed(self.signal)

    def start(self, sources: Sources) -> Estimates:
        """Return estimates of nothing; raises ScenarioError when `initial` names an unknown source."""
        prior_of(self.initial, sources, "policy odm, initial")
        return Estimates(0, np.full(len(sources), -np.inf if self.mode == "released" else 0.0))

    def propose(self, state: Estimates, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return the weights (K,) after `state.turn` updates; note `estimate`, NaN where excluded."""
        notes = {"estimate": np.where(moment.active, state.value, np.nan)}
        if moment.step < self.warmup:
            initial = prior_of(self.initial, moment.sources, "policy odm, initial")
            return Proposal(masked(initial, moment.active), notes=notes)
        return Proposal(self.weights(state, moment.active), notes=notes)

    def weights(self, state: Estimates, active: Mask) -> Vector:
        """Return the mixture (K,) over the active sources."""
        count = int(active.sum())
        share = exploration(state.turn, count)
        if share >= 1.0 / count:
            return uniform(active)
        scale = 1.0 if self.mode == "released" else exploration(state.turn - 1, count)
        blend: Vector = (1.0 - count * share) * softmax(scale * state.value, active) + share * active
        return blend

    def update(self, state: Estimates, outcome: Outcome) -> Estimates:
        """Return the estimates with the phase's signal taken in, where it was heard."""
        signal = heard(outcome, self.signal)
        known = ~np.isnan(signal) & (outcome.weights > 0)
        value = self._moved(state.value, np.where(known, signal, 0.0), np.maximum(outcome.weights, LEAST))
        return Estimates(state.turn + 1, np.where(known, value, state.value))

    def _moved(self, value: Vector, signal: Vector, landed: Vector) -> Vector:
        """Return the estimates (K,) as they are where the signal was heard."""
        if self.mode == "exp3":
            return value + signal / (10.0 * landed)
        if self.mode == "paper":
            return self.smoothing * value + (1.0 - self.smoothing) * signal / landed
        kept, new = logarithm(np.array([self.smoothing, 1.0 - self.smoothing]))
        moved: Vector = np.logaddexp(kept + value, new + signal)
        return moved


def exploration(turn: int, count: int) -> float:
    """Return e_t = min(1/K, sqrt(ln K / (K t))) for K = `count` sources, 1/K before the first turn."""
    if turn <= count * math.log(count):
        return 1.0 / count
    return min(1.0 / count, math.sqrt(math.log(count) / (count * turn)))
