"""Random: jump to a uniformly random point of the region (the random phase of the seed lessons)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Sources, Vector


@attrs.frozen
class Random:
    """Teleport to a point that is uniform on the reachable region, whatever was learnt before.

    Source: the seed lesson on the simplex walk ("teleport to a uniformly random point of the reachable region").
    Reward: none is read. Pull model: none. Unseen sources: no difference.
    Departure: ANDREA's own random phases draw a focus set by an unpublished law; this is uniform on the region.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits(equivariant=False)  # equal in law only: the draws are by position

    def start(self, sources: Sources) -> None:
        """Return None: nothing is remembered."""

    def propose(self, state: None, moment: Moment, rng: np.random.Generator) -> Vector:
        """Return one uniform sample of the region, (K,)."""
        return moment.region.sample(rng)

    def update(self, state: None, outcome: Outcome) -> None:
        """Return None: nothing is learnt."""
