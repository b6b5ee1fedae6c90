"""Excess loss: reward a source by how far its loss lies above a reference, what is left to learn (as in DoReMi)."""

import math
from collections.abc import Mapping

import attrs
import numpy as np

from andrea_core import Observation, RewardTraits, ScenarioError, Scores, Sources, by_source, numbers_by_source, one_of
from andrea_plugins.rewards.normalisers import ANY, Normalised, Scale


@attrs.frozen(kw_only=True)
class ExcessLoss(Normalised):
    """Score each source with its mean loss of the phase less its number in `reference`, both in nats a token.

    Source: DoReMi (2305.10429) and Sheared-LLaMA (2310.06694); the reference losses are those of a reference model, or
    where a scaling law puts them. Every source needs one. `signal` is the training loss, as in DoReMi, or the held-out
    loss, as in Sheared-LLaMA.
    Range: `form = "signed"` keeps a loss below the reference as a negative number, as Sheared-LLaMA's code does;
    `"positive"` clips it to 0, as both papers do. A source of pure noise whose reference is honest scores 0; one whose
    reference is too low wins for ever.
    Pull model: a phase is one pull. Unseen sources: NaN, nothing is kept.
    Departure: DoReMi clips each token's excess, which also pays for spread; here the mean of a phase is clipped.
    """

    reference: Mapping[str, float] = numbers_by_source()
    form: str = one_of("signed", "positive", default="signed")
    signal: str = one_of("training", "heldout", default="training")

    @property
    def needs(self) -> frozenset[str]:
        """The held-out loss if that is the signal."""
        return frozenset({"heldout"}) if self.signal == "heldout" else frozenset()

    @property
    def traits(self) -> RewardTraits:
        """Fresh; negative only in the signed form."""
        return self.declared(RewardTraits(ANY if self.form == "signed" else (0.0, math.inf)))

    def start(self, sources: Sources) -> "Excess":
        """Return the references; raises ScenarioError when a source has none."""
        for name in sources.names:
            if name not in self.reference:
                raise ScenarioError(
                    f"reference: no number for source {name!r}; give every source its loss in nats a token"
                )
        return Excess(by_source(self.reference, sources, "reference"), self.scale())

    def score(self, state: "Excess", observation: Observation, rng: np.random.Generator) -> tuple[Scores, "Excess"]:
        """Return loss - reference (K,), NaN where the loss is not known."""
        loss = observation.heldout if self.signal == "heldout" else observation.loss_by_source()
        excess = np.asarray(loss) - state.reference
        scores, scale = self.rescaled(state.scale, excess if self.form == "signed" else np.maximum(excess, 0.0), rng)
        return scores, Excess(state.reference, scale)


@attrs.frozen(eq=False)
class Excess:
    """What the reward knows: the reference losses (K,) in nats a token, and the normaliser's state."""

    reference: Scores
    scale: Scale
