"""Discounted UCB: UCB1 that forgets, for rewards that drift (Garivier, Moulines 2008, 0805.3415)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Proposal, Sources, number, positive
from andrea_plugins.policies.tally import Tally, credit, scores, toward


@attrs.frozen
class DiscountedUcb:
    """Walk a `step` of the way to the vertex of best score, where each phase discounts all that was counted before.

    Source: D-UCB (Garivier, Moulines 2008, 0805.3415, section 2): X_g/N_g + 2 B sqrt(xi ln n_g / N_g), where rewards
    and pulls are multiplied by g (`discount`) before each update and n_g is the sum of all N_g. Here c = 2 B sqrt(xi):
    sqrt(2) for the paper's B = 1, xi = 1/2; its simulations' bonus, sqrt(ln n_g / (2 N_g)), is c = sqrt(1/2). The paper
    tunes g = 1 - 1/(4 sqrt(T)) for T phases with few changes: .995 for 2,500.
    Reward: about 1 in size. Pull model: a phase is one pull, shared among the sources by their part of its tokens.
    Unseen sources: pulls and summed reward decay together, so a source that is not seen (or excluded for a while) keeps
    its mean, while its bonus grows until it comes first.
    Departures: a fractional pull, a step towards a vertex instead of one arm, a discount a phase. A pull without a
    known reward counts as pulled and leaves the mean. SMPyBandits 0.9.7 keeps integer counts, which is another rule.
    """

    c: float = positive(default=2**0.5)
    discount: float = number(default=0.995, above=0, at_most=1)
    step: float = positive(default=0.5, at_most=1.0)
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits(
        reward=(0.0, 1.0), pull="mixed", unseen="keeps its mean while its pulls decay", equivariant=False
    )

    def start(self, sources: Sources) -> Tally:
        """Return a tally of nothing."""
        return Tally.of(len(sources))

    def propose(self, state: Tally, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return w + step (v - w), (K,), for the weights w and the best vertex v; notes `score` and `vertex`."""
        return toward(scores(state, self.c), moment, self.step)

    def update(self, state: Tally, outcome: Outcome) -> Tally:
        """Return the discounted tally with the phase's pull and rewards added."""
        return credit(state, outcome, self.discount)
