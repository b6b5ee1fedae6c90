"""DoReMi and Sheared-LLaMA: exponentiated gradient on the loss over a reference (2305.10429, 2310.06694)."""

from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Proposal, Sources, Vector, number, numbers_by_source, one_of
from andrea_plugins.policies.mixing import (
    every_source,
    heard,
    latest,
    logarithm,
    lowered,
    masked,
    needed,
    optional_weights,
    prior_of,
    softmax,
)

STEEPEST = 50.0
"""The largest change of a log-weight in one update."""


@attrs.frozen(eq=False)
class Walk:
    """The weights as logarithms, each source's last excess loss, and the sum of all weights so far."""

    log_weights: Vector  # (K,) the largest is 0
    excess: Vector  # (K,) nats a token, 0 before the first
    reference: Vector  # (K,) the settings' table, which an update does not see otherwise
    total: Vector  # (K,) summed weights after each update
    updates: int


@attrs.frozen
class Doremi:
    """Multiply weights by exp(eta excess), normalise, and mix in `smoothing` uniform; excess is L - `reference`.

    Source: form "doremi", Xie et al. 2023, 2305.10429, algorithm 1: the excess is clipped at 0, smoothing 1e-3. Form
    "sheared", Xia et al. 2023, 2310.06694, algorithm 1 as their code runs it: no clip, smoothing 1e-4, usually with
    `initial` weights, one update a (long) phase and signal "heldout". eta is 1 in both.
    `reference` gives a loss for every source, in nats a token, so no second model is run: take it from a finished
    run's record (DoReMi) or a scaling law (Sheared-LLaMA).
    `act_on = "weights"` trains on the present weights; "mean" on the running mean of all so far, which is DoReMi's
    result. The note `mean` reports it in either case.
    Reward: none is read; the signal is the mean training loss or "heldout".
    Pull model: mixed batch.
    Unseen sources: `missing = "keep"` uses their last excess again, as the authors' code does, "skip" changes
    nothing; 0 before the first loss (their code: ln V). A source whose weight is 0, an excluded one say, is never
    moved.
    Departures: sources are drawn by the weights (DoReMi's proxy draws evenly and weighs losses); the excess is
    clipped by source and phase, theirs by token, since rows hold sums; a log-weight moves by at most 50 an update and
    stays within 100 of the largest.
    The authors' code: DoReMi's loader resumes with the first weights; the Sheared-LLaMA paper clips at 0 where its
    code does not. Without a good reference it runs towards what cannot be learnt.
    """

    reference: Mapping[str, float] = numbers_by_source()
    form: str = one_of("doremi", "sheared", default="doremi")
    eta: float = number(default=1.0, above=0)
    smoothing: float | None = number(default=None, at_least=0, at_most=1)
    initial: Mapping[str, float] = optional_weights()
    act_on: str = one_of("weights", "mean", default="weights")
    missing: str = one_of("keep", "skip", default="keep")
    signal: str = one_of("training", "heldout", default="training")
    traits: ClassVar[PolicyTraits] = PolicyTraits(None, "mixed", "the last excess counts again")

    @property
    def needs(self) -> frozenset[str]:
        """The held-out loss, if that is the signal."""
        return needed(self.signal)

    def start(self, sources: Sources) -> Walk:
        """Return the initial weights; raises ScenarioError for an unknown source or one without reference."""
        reference = every_source(self.reference, sources, "policy doremi, reference")
        weights = prior_of(self.initial, sources, "policy doremi, initial")
        nothing = np.zeros(len(sources))
        return Walk(lowered(logarithm(weights)), nothing, reference, nothing, 0)

    def propose(self, state: Walk, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return weights or their mean (K,) on the active sources; notes `mean` and `excess`, NaN where excluded."""
        present = normalised(state.log_weights)
        mean = state.total / state.updates if state.updates else present
        target = masked(mean if self.act_on == "mean" else present, moment.active)
        shown = {"mean": masked(mean, moment.active), "excess": state.excess}
        return Proposal(target, notes={key: np.where(moment.active, note, np.nan) for key, note in shown.items()})

    def update(self, state: Walk, outcome: Outcome) -> Walk:
        """Return the walk one update on."""
        over = heard(outcome, self.signal) - state.reference
        excess = latest(np.maximum(over, 0.0) if self.form == "doremi" else over, state.excess)
        moving = outcome.weights > 0
        if self.missing == "skip":
            moving = moving & ~np.isnan(over)
        change = np.where(moving, np.clip(self.eta * excess, -STEEPEST, STEEPEST), 0.0)
        part = self._part()
        weights = (1.0 - part) * normalised(state.log_weights + change) + part / len(excess)
        total = state.total + weights
        return attrs.evolve(
            state, log_weights=lowered(logarithm(weights)), excess=excess, total=total, updates=state.updates + 1
        )

    def _part(self) -> float:
        """Return how much uniform is mixed in: the setting, or the form's own."""
        if self.smoothing is not None:
            return self.smoothing
        return 1e-3 if self.form == "doremi" else 1e-4


def normalised(log_weights: Vector) -> Vector:
    """Return the weights (K,) of log-weights, summing to 1."""
    return softmax(log_weights, np.ones(len(log_weights), np.bool_))
