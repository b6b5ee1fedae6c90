"""UCB1: favour the source of largest mean reward plus exploration bonus (Auer, Cesa-Bianchi, Fischer 2002)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Proposal, Sources, positive
from andrea_plugins.policies.tally import Tally, credit, scores, toward


@attrs.frozen
class Ucb1:
    """Walk a `step` of the way from the present weights to the region's vertex with the best total score.

    The score of source k is m_k + c sqrt(ln N / n_k), with its mean reward m_k, its pulls n_k and all pulls N (Auer,
    Cesa-Bianchi, Fischer 2002, figure 1); sources that were never pulled come first.
    Reward: about 1 in size, as `improvement` gives by default; c = sqrt(2) belongs to rewards in [0, 1]. With rewards
    of hundreds (ANDREA's form) the bonus is noise unless c grows alike.
    Pull model: a phase is one pull, shared among the sources by their part of its tokens.
    Unseen sources: a source without tokens gets no pull. One with tokens but without a reward gets the pull and keeps
    its mean, which is 0 until the first reward: so it is not "unpulled" for ever.
    Departures: a fractional pull, and a step towards a vertex instead of one arm (the seed lessons' bandit phase);
    step = 1 on the plain simplex is the paper's.
    """

    c: float = positive(default=2**0.5)
    step: float = positive(default=0.5, at_most=1.0)
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits(
        reward=(0.0, 1.0), pull="mixed", unseen="keeps its pulls and its mean", equivariant=False
    )

    def start(self, sources: Sources) -> Tally:
        """Return a tally of nothing."""
        return Tally.of(len(sources))

    def propose(self, state: Tally, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return w + step (v - w), (K,), for the weights w and the best vertex v; notes `score` and `vertex`."""
        return toward(scores(state, self.c), moment, self.step)

    def update(self, state: Tally, outcome: Outcome) -> Tally:
        """Return the tally with the phase's pull and rewards added."""
        return credit(state, outcome)
