"""Fixed: the weights that the scenario writes, phase after phase (the static mixture)."""

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, ScenarioError, Sources, Vector, by_source, weights_by_source


@attrs.frozen
class Fixed:
    """Propose the table `weights`, where a source that is left out has 0; only the ratios matter.

    Source: the static mixture, every method's first baseline (2312.02406 calls it the original weights).
    Reward: none is read. Pull model: none. Unseen sources: no difference.
    Departure: in a stage that excludes sources, their mass is dropped and the rest normalised, so the ratios of the
    remaining sources stay; a stage that leaves nothing of the table is an error.
    """

    weights: Mapping[str, float] = weights_by_source()
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits(equivariant=False)  # its table names sources

    def __attrs_post_init__(self) -> None:
        """Raise ValueError when no source has a weight."""
        if not any(self.weights.values()):
            raise ValueError("weights must give at least one source more than 0")

    def start(self, sources: Sources) -> None:
        """Return None; raises ScenarioError when the table names a source that the experiment does not have."""
        by_source(self.weights, sources, "policy fixed, weights")

    def propose(self, state: None, moment: Moment, rng: np.random.Generator) -> Vector:
        """Return the table's weights (K,) on the active sources, normalised; raises ScenarioError if none is left."""
        wished: Vector = np.where(moment.active, by_source(self.weights, moment.sources, "policy fixed, weights"), 0.0)
        if not wished.any():
            raise ScenarioError(_nothing_left(self.weights, moment.stage))
        wished /= wished.sum()
        return wished

    def update(self, state: None, outcome: Outcome) -> None:
        """Return None: nothing is learnt."""


def _nothing_left(weights: Mapping[str, Any], stage: str) -> str:
    named = ", ".join(name for name, weight in weights.items() if weight > 0)
    return (
        f"policy fixed: stage {stage!r} excludes every source that has a weight ({named}); "
        "give a source of that stage a weight, or change the stage's sources"
    )
