"""Held-out gain: reward a source by how much the phase lowered the loss on its held-out text."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Observation, RewardTraits, Scores, Sources, Vector, one_of
from andrea_plugins.rewards.normalisers import ANY, KINDS, Normalised, Scale


@attrs.frozen(eq=False)
class Before:
    """What the reward remembers: each source's held-out loss (K,) in nats a token, and the normaliser's state."""

    heldout: Vector  # NaN before the first phase
    scale: Scale


@attrs.frozen
class HeldoutGain(Normalised):
    """Score each source with its held-out loss after the phase before, less the one after this phase, in nats a token.

    Source: a target prediction gain (Graves et al. 2017, 1704.03003, section 3.1) with each source its own target; the
    learning progress of teacher-student curricula (1707.00183). Always the same windows, so that sampling noise cancels
    and the gains of a source sum to what it gained.
    Range: either sign, hundredths of a nat and falling; by default the quantiles of past scores make it [-1, 1].
    Pull model: a phase is one pull; all of the phase's rows may have caused the gain, those of other sources too.
    Unseen sources: measured all the same, but the core credits no reward to a source that got no tokens. No score in
    the first phase, nor for a source without held-out text. Cost: 2,048 tokens a source forward, each phase.
    """

    normaliser: str = one_of(*KINDS, default="quantile")
    needs: ClassVar[frozenset[str]] = frozenset({"heldout"})

    @property
    def traits(self) -> RewardTraits:
        """A difference to the phase before, of either sign."""
        return self.declared(RewardTraits(ANY, staleness=1.0))

    def start(self, sources: Sources) -> Before:
        """Return the state before anything is measured."""
        return Before(np.full(len(sources), np.nan), self.scale())

    def score(self, state: Before, observation: Observation, rng: np.random.Generator) -> tuple[Scores, Before]:
        """Return the gains (K,), NaN without two measurements; one that is not finite is passed over."""
        now = np.asarray(observation.heldout)
        scores, scale = self.rescaled(state.scale, state.heldout - now, rng)
        return scores, Before(np.where(np.isfinite(now), now, state.heldout), scale)
