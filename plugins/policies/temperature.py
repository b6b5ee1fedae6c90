"""Temperature: weights by source size, flattened, p_i ~ n_i^(1/T) (1907.05019)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Sources, Vector, positive
from andrea_plugins.policies.proportional import tempered


@attrs.frozen
class Temperature:
    """Give each active source a weight by its training tokens to the power 1 / `temperature`.

    Source: temperature sampling, p_i ~ n_i^(1/T) (Arivazhagan et al. 2019, 1907.05019, section 4), whose T = 5 is the
    default. T = 1 is `proportional`, T towards infinity is `uniform`.
    Reward: none is read. Pull model: none. Unseen sources: no difference.
    Departures: sizes are tokens, not sentence pairs, and the normalisation runs over the sources that are active.
    """

    temperature: float = positive(default=5.0)
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits()

    def start(self, sources: Sources) -> None:
        """Return None: nothing is remembered."""

    def propose(self, state: None, moment: Moment, rng: np.random.Generator) -> Vector:
        """Return the tempered sizes (K,) of the active sources, normalised."""
        sizes = np.where(moment.active, moment.sources.tokens, 0).astype(np.float64)
        return tempered(sizes, self.temperature)

    def update(self, state: None, outcome: Outcome) -> None:
        """Return None: nothing is learnt."""
