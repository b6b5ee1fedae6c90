"""Prediction gain: reward a source by how much one step on its rows lowers the loss on them (Graves et al. 2017)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Observation, RewardTraits, Scores, Sources, one_of
from andrea_plugins.rewards.normalisers import ANY, KINDS, Normalised, Scale


@attrs.frozen
class PredictionGain(Normalised):
    """Score each source with the fall of its rows' loss over their own optimiser step, in nats a token.

    Source: prediction gain (Graves et al. 2017, 1704.03003, section 3.1): L(x, before) - L(x, after), on the same rows,
    so that the luck of the draw cancels. It needs a second forward pass a step, about a third of its cost.
    Range: either sign; by default the quantiles of past scores make it [-1, 1], as in the paper.
    Late in a run gains lie below the quantiles of their whole past, so all are -1: `normaliser = "recent"` forgets.
    Pull model: the mean over the phase's tokens of a source. Unseen sources: NaN, nothing else is kept.
    Noise: text without anything to learn gains next to nothing, but what is learnt by heart counts as learnt: a small
    source repeated often looks better than it is (use `heldout_gain` against that).
    Departures: the paper's arms are whole batches; here the rows of a batch have different sources, and the step is
    taken on all of them. With dropout the loss before has it and the loss after has not: every score is larger by
    about the same amount.
    """

    normaliser: str = one_of(*KINDS, default="quantile")
    needs: ClassVar[frozenset[str]] = frozenset({"loss_after"})

    @property
    def traits(self) -> RewardTraits:
        """Fresh, of either sign."""
        return self.declared(RewardTraits(ANY))

    def start(self, sources: Sources) -> Scale:
        """Return the normaliser's state: nothing else is remembered."""
        return self.scale()

    def score(self, state: Scale, observation: Observation, rng: np.random.Generator) -> tuple[Scores, Scale]:
        """Return the gains (K,), NaN where a source was not seen."""
        with np.errstate(invalid="ignore"):  # a loss that is not finite on both sides leaves no gain
            gained = attrs.evolve(observation, loss=observation.loss - np.asarray(observation.loss_after))
        return self.rescaled(state, gained.loss_by_source(), rng)
