"""Loss: reward a source with its mean training loss, so that what is still hard is favoured (as in ODM)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Observation, Scores, Sources


@attrs.frozen
class Loss:
    """Score each source with its token-weighted mean training loss of the phase, in nats a token.

    Source: online data mixing (2312.02406) takes the training loss as the reward of a source.
    Range: 0 to about ln(vocabulary), 5.5 for bytes; a UCB bonus wants c of that size.
    Pull model: a phase is one pull, all of a source's tokens count alike. Unseen sources: NaN, nothing is kept.
    Departure: ODM divides by the probability and exponentiates; that belongs to its policy, not to this reward.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    def start(self, sources: Sources) -> None:
        """Return None: nothing is remembered."""

    def score(self, state: None, observation: Observation, rng: np.random.Generator) -> tuple[Scores, None]:
        """Return the mean losses (K,), NaN where a source was not seen."""
        return observation.loss_by_source(), None
