"""Loss softmax: weights in proportion to exp(loss / temperature), or of the loss over a reference."""

from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Proposal, Sources, Vector, number, one_of, positive
from andrea_plugins.policies.mixing import every_source, filled, heard, needed, optional_numbers, softmax


@attrs.frozen
class LossSoftmax:
    """Propose softmax(L / T), or softmax((L - L_ref) / T) with a table `reference`, L the losses last seen.

    Source: modelscope/ms-swift, pull request 9142 (softmax of the loss per channel); the excess form is the score of
    DoReMi (2305.10429) without its memory. `smoothing` s keeps a moving average, L <- s L + (1 - s) L_new.
    Reward: none is read; the signal is the mean training loss in nats a token, or "heldout".
    Pull model: mixed batch.
    Unseen sources: the last loss stays; before its first loss a source counts with the mean of the known ones, and
    before any loss all weights are equal.
    Departures: none from the equation; the reference losses are a table of numbers, so no second model is run. It
    follows what is hard, learnable or not: a source that is pure noise gets the most, unless the reference knows.
    """

    temperature: float = positive(default=1.0)
    reference: Mapping[str, float] = optional_numbers()
    signal: str = one_of("training", "heldout", default="training")
    smoothing: float = number(default=0.0, at_least=0, below=1)
    traits: ClassVar[PolicyTraits] = PolicyTraits(None, "mixed", "the last loss stays")

    @property
    def needs(self) -> frozenset[str]:
        """The held-out loss, if that is the signal."""
        return needed(self.signal)

    def start(self, sources: Sources) -> Vector:
        """Return no losses: NaN, (K,); raises ScenarioError when a given `reference` leaves a source out."""
        self._reference(sources)
        return np.full(len(sources), np.nan)

    def _reference(self, sources: Sources) -> Vector:
        if not self.reference:
            return np.zeros(len(sources))
        return every_source(self.reference, sources, "policy loss_softmax, reference")

    def propose(self, state: Vector, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return the mixture (K,) over the active sources; note `score`, NaN where excluded."""
        score = filled(state - self._reference(moment.sources), moment.active, 0.0)
        with np.errstate(over="ignore"):  # what overflows is bounded by softmax
            weights = softmax(score / self.temperature, moment.active)
        return Proposal(weights, notes={"score": np.where(moment.active, score, np.nan)})

    def update(self, state: Vector, outcome: Outcome) -> Vector:
        """Return the losses (K,) with the phase's taken in."""
        loss = heard(outcome, self.signal)
        moved = np.where(np.isnan(state), loss, self.smoothing * state + (1.0 - self.smoothing) * loss)
        return np.where(np.isnan(loss), state, moved)
