"""UniMax: as uniform as the sizes allow without more than `epochs` passes over any source (2304.09151)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Sources, Vector, positive


@attrs.frozen
class UniMax:
    """Share the token `budget` equally, but give no source more than `epochs` times its size; small ones first.

    Source: UniMax (Chung et al. 2023, 2304.09151, algorithm 1): sources in order of size, each gets min(budget left /
    sources left, N n_i). `budget` is the number of tokens that the whole run trains (steps x rows x context, which
    `andrea show` prints); it does not follow a scenario's `scale`.
    Reward: none is read. Pull model: none. Unseen sources: no difference.
    Departures: sizes are training tokens, not characters. The shares hold for the sources that are active, as if the
    whole budget were trained in this stage; constraints that move the weights may take a source beyond `epochs`
    (`epoch_cap` is the constraint that forbids it). A budget that all sources together cannot fill gives weights by
    size, as in the paper.
    """

    budget: float = positive()
    epochs: float = positive(default=1.0)
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits()

    def start(self, sources: Sources) -> None:
        """Return None: nothing is remembered."""

    def propose(self, state: None, moment: Moment, rng: np.random.Generator) -> Vector:
        """Return the shares (K,) of the active sources, normalised."""
        sizes = np.where(moment.active, moment.sources.tokens, 0).astype(np.float64)
        shares = allotted(sizes, self.budget / self.epochs)
        weights: Vector = shares / shares.sum()
        return weights

    def update(self, state: None, outcome: Outcome) -> None:
        """Return None: nothing is learnt."""


def allotted(sizes: Vector, budget: float) -> Vector:
    """Return min(n_i, level), (K,), with the one level that makes the sum the budget; sizes of 0 get nothing.

    The level is that of the first source, in order of size, that takes an equal part of what the smaller ones left.
    """
    rising = np.sort(sizes[sizes > 0])
    before = np.concatenate([[0.0], np.cumsum(rising)[:-1]])
    equal = (budget - before) / np.arange(len(rising), 0, -1)
    uncapped = np.flatnonzero(equal <= rising)
    return np.minimum(sizes, equal[uncapped[0]]) if len(uncapped) else sizes
