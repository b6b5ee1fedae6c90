"""Aioli: tries smoothed one-hot mixtures, solves for who helps whom, and follows it (Chen et al. 2024, 2411.05735)."""

from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np

from andrea_core import (
    Moment,
    Outcome,
    PolicyTraits,
    Proposal,
    Sources,
    Vector,
    fraction,
    number,
    one_of,
    positive,
    span,
)
from andrea_plugins.policies.mixing import (
    Mask,
    heard,
    latest,
    logarithm,
    lowered,
    needed,
    optional_weights,
    prior_of,
    softmax,
)
from andrea_plugins.policies.transfer import one_hot, solved

STEEPEST = 50.0
"""The largest change of a log-weight in one update."""


@attrs.frozen(eq=False)
class Round:
    """Where a round stands: trials while `left` is 0, else steps still to train on the learned weights."""

    log_weights: Vector  # (K,) the learned mixture, the largest 0
    prior: Vector  # (K,) its logarithm at the start
    gain: Vector  # (K,) what a unit of a source lowers all losses by, as last learned
    losses: Vector  # (K,) last known, nats a token, NaN before the first
    fed: Mask  # (K,) sources that had weight since the sweep began, or in the phase before it
    mixtures: Vector  # (n, K) landed weights of this sweep's trials
    drops: Vector  # (n, K) by how much the losses fell in each
    left: int
    learned: int  # how often the mixture was learned


@attrs.frozen
class Aioli:
    """Learn A from trials, then multiply weight j by exp(eta sum_i A_ij), train `every` steps, and learn again.

    Source: Chen et al. 2024, 2411.05735, algorithm 1 (LearnParams). A trial is `lp_steps` steps on a smoothed one-hot
    mixture: `one_hot` on one source, the rest even on the others. After `lp_rounds` sweeps over the open sources
    A_ij, the drop of loss i per unit of source j, is solved from the trials. With `ema` b, A is averaged, b of the
    old and 1 - b of the new, and weights are prior * exp(eta column sums): not cumulative.
    Reward: none is read; the signal is the "heldout" loss, or "training" as a rough stand-in.
    Pull model: mixed batch. It schedules its own phases: `lp_steps` for a trial, `every` for the rest of a round; a
    first phase of `lp_steps` on the `prior` (uniform without a table) only measures. A sweep costs lp_rounds lp_steps
    K steps: 256 for 16 sources at the defaults, as much as it then trains on what was learned. All count in the run's
    total.
    Unseen sources: a loss that is not known leaves its row of A out (0); a source no trial could feed keeps its
    weight.
    Departures, the first for the better: the linear system is solved with the weights that **landed**, by least
    squares, so that A is right on regions where a one-hot mixture cannot be had; a trial that a stage border cut
    counts in proportion; sweeps go in turn instead of by lot; `every` counts steps after the trials; a log-weight
    moves by at most 50 an update.
    The authors' code: takes trial steps off a count of samples; without an average it starts from even weights,
    whatever the prior.
    """

    eta: float = positive(default=0.2)
    one_hot: float = fraction(default=0.625)
    lp_rounds: int = number(default=4, at_least=1, at_most=1000)
    lp_steps: int = number(default=4, at_least=1, at_most=100_000)
    every: int = span(default=250, at_least=1)
    ema: float | None = number(default=None, at_least=0, below=1)
    prior: Mapping[str, float] = optional_weights()
    signal: str = one_of("training", "heldout", default="heldout")
    traits: ClassVar[PolicyTraits] = PolicyTraits(None, "mixed", "its row of A is 0", equivariant=False)

    @property
    def needs(self) -> frozenset[str]:
        """The held-out loss, if that is the signal."""
        return needed(self.signal)

    def start(self, sources: Sources) -> Round:
        """Return the prior and no measurements; raises ScenarioError when it names an unknown source."""
        prior = lowered(logarithm(prior_of(self.prior, sources, "policy aioli, prior")))
        count = len(sources)
        none = np.zeros((0, count))
        unknown = np.full(count, np.nan)
        return Round(prior, prior, np.zeros(count), unknown, np.zeros(count, np.bool_), none, none, 0, 0)

    def propose(self, state: Round, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return a trial or the learned mixture (K,), with the length of its phase; note `gain`, NaN where excluded."""
        notes = {"gain": np.where(moment.active, state.gain, np.nan)}
        learned = softmax(state.log_weights, moment.active)
        if np.isnan(state.losses).all():
            return Proposal(learned, self.lp_steps, notes)
        if state.left > 0:
            return Proposal(learned, state.left, notes)
        return Proposal(one_hot(moment.active, len(state.mixtures), self.one_hot), self.lp_steps, notes)

    def update(self, state: Round, outcome: Outcome) -> Round:
        """Return the round one phase on."""
        losses = heard(outcome, self.signal)
        fed = outcome.weights > 0
        steps = len(outcome.observation.loss)
        after = attrs.evolve(state, losses=latest(losses, state.losses), fed=fed)
        if np.isnan(state.losses).all():
            return after
        if state.left > 0:
            return attrs.evolve(after, left=max(0, state.left - steps))
        return self._tried(after, state.fed | fed, outcome, (state.losses - losses) * self.lp_steps / steps)

    def _tried(self, after: Round, fed: Mask, outcome: Outcome, drop: Vector) -> Round:
        """Return the round with a trial's drop, and what was learned if it was the sweep's last."""
        mixtures = np.concatenate([after.mixtures, outcome.weights[None]])
        drops = np.concatenate([after.drops, drop[None]])
        if len(mixtures) < self.lp_rounds * fed.sum():
            return attrs.evolve(after, fed=fed, mixtures=mixtures, drops=drops)
        gain = solved(mixtures, drops).sum(0)
        if self.ema is not None and after.learned:
            gain = (1.0 - self.ema) * gain + self.ema * after.gain
        base = after.log_weights if self.ema is None else after.prior
        return attrs.evolve(
            after,
            log_weights=lowered(base + np.clip(self.eta * gain, -STEEPEST, STEEPEST)),
            gain=gain,
            mixtures=mixtures[:0],
            drops=drops[:0],
            left=self.every,
            learned=after.learned + 1,
        )
