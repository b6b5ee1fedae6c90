"""Uniform: the same weight for every source that may receive mass (the stratified baseline)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Sources, Vector


@attrs.frozen
class Uniform:
    """Give each active source 1 / (number of active sources); the region then bends it to floors and caps.

    Source: the stratified baseline of Skill-It (2307.14430) and Aioli (2411.05735).
    Reward: none is read. Pull model: none. Unseen sources: no difference. Departures: none.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits()

    def start(self, sources: Sources) -> None:
        """Return None: nothing is remembered."""

    def propose(self, state: None, moment: Moment, rng: np.random.Generator) -> Vector:
        """Return equal weights (K,) on the active sources."""
        weights: Vector = moment.active / moment.active.sum()
        return weights

    def update(self, state: None, outcome: Outcome) -> None:
        """Return None: nothing is learnt."""
