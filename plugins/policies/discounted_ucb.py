"""Discounted UCB: UCB1 that forgets, for rewards that drift (Garivier, Moulines 2008, 0805.3415)."""

from typing import ClassVar

import attrs

from andrea_core import Outcome, PolicyTraits, number
from andrea_plugins.policies.tally import Tally, credit
from andrea_plugins.policies.ucb1 import Ucb1


@attrs.frozen
class DiscountedUcb(Ucb1):
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

    discount: float = number(default=0.995, above=0, at_most=1)
    traits: ClassVar[PolicyTraits] = PolicyTraits(
        reward=(0.0, 1.0), pull="mixed", unseen="keeps its mean while its pulls decay", equivariant=False
    )

    def update(self, state: Tally, outcome: Outcome) -> Tally:
        """Return the discounted tally with the phase's pull and rewards added."""
        return credit(state, outcome, self.discount)
