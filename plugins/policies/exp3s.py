"""EXP3.S: EXP3 that shares a little of the total weight with every source, for changing rewards (Auer et al. 2002)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Outcome, PolicyTraits, number
from andrea_plugins.policies.estimates import log_total, unit
from andrea_plugins.policies.exp3 import Exp3, LogWeights, exponents, same_total

SMALLEST = 5e-324
"""An `alpha` this small is none: shared among the sources it must not become 0, which has no logarithm."""


@attrs.frozen
class Exp3S(Exp3):
    """Propose p = (1 - gamma) w / sum w + gamma / K over the K active sources, as `exp3` does.

    Source: EXP3.S (Auer, Cesa-Bianchi, Freund, Schapire 2002, figure 3): w_i <- w_i exp(gamma x_i / (K p_i)) plus
    e alpha / K times the sum of all w before the update. For T phases the paper takes alpha = 1 / T and, with at most
    S - 1 changes of the best source, gamma = min(1, sqrt(K (S ln(K T) + e) / ((e - 1) T))) (corollary 8.2);
    SMPyBandits takes sqrt(K ln(K T) / T). The default alpha suits some 3,000 phases.
    Reward: mapped from [`low`, `high`] to [0, 1] and clipped. Pull model, unseen sources, departures: as `exp3`. The
    shared weight is taken from and given to the sources that could be drawn, so an exclusion changes nothing for the
    source excluded.
    """

    alpha: float = number(default=3e-4, above=0, at_most=1)
    traits: ClassVar[PolicyTraits] = PolicyTraits(
        reward=(-1.0, 1.0), pull="mixed", unseen="drifts to the mean; a barred one keeps its part of the total"
    )

    def update(self, state: LogWeights, outcome: Outcome) -> LogWeights:
        """Return the weights after the phase."""
        drawable = outcome.weights > 0
        gained = state.values + exponents(outcome, self.gamma, unit(outcome, self.low, self.high))
        part = 1.0 + np.log(max(self.alpha / np.count_nonzero(drawable), SMALLEST)) + log_total(state.values[drawable])
        return LogWeights(same_total(state.values, np.logaddexp(gained, part), drawable))
