"""Proportional: weights by source size, flattened by a temperature, p_i ~ n_i^(1/T)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Sources, Vector, positive


@attrs.frozen
class Proportional:
    """Give each active source a weight by its training tokens to the power 1 / `temperature`.

    Source: temperature sampling, p_i ~ n_i^(1/T), as of multilingual pretraining; T = 1 is proportional to size and
    T towards infinity is uniform.
    Reward: none is read. Pull model: none. Unseen sources: no difference.
    Departure: sizes are tokens, not documents, and the normalisation runs over the sources that are active.
    """

    temperature: float = positive(default=1.0)
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


def tempered(sizes: Vector, temperature: float) -> Vector:
    """Return p_i = n_i^(1/T) / sum_j n_j^(1/T), (K,). The largest size is factored out, so that no power overflows."""
    powers: Vector = (sizes / sizes.max()) ** (1.0 / temperature)
    weights: Vector = powers / powers.sum()
    return weights
