"""Loss: reward a source with its mean training loss, so that what is still hard is favoured (as in ODM)."""

import math
from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Observation, RewardTraits, Scores, Sources
from andrea_plugins.rewards.normalisers import Normalised, Scale


@attrs.frozen
class Loss(Normalised):
    """Score each source with its token-weighted mean training loss of the phase, in nats a token.

    Source: online data mixing (2312.02406) takes the training loss as the reward of a source.
    Range: 0 to about ln(vocabulary), 5.5 for bytes; a UCB bonus wants c of that size. Never negative unless normalised
    (see `normaliser`). It follows whatever is hard: a source of pure noise wins by definition.
    Pull model: a phase is one pull, all of a source's tokens count alike. Unseen sources: NaN, nothing is kept.
    Departure: ODM divides by the probability and exponentiates; that belongs to its policy, not to this reward.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    @property
    def traits(self) -> RewardTraits:
        """Fresh, and never negative as it is."""
        return self.declared(RewardTraits((0.0, math.inf)))

    def start(self, sources: Sources) -> Scale:
        """Return the normaliser's state: nothing else is remembered."""
        return self.scale()

    def score(self, state: Scale, observation: Observation, rng: np.random.Generator) -> tuple[Scores, Scale]:
        """Return the mean losses (K,), NaN where a source was not seen."""
        return self.rescaled(state, observation.loss_by_source(), rng)
