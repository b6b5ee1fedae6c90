"""EXP3: exponential weights on importance-weighted rewards, mixed with uniform exploration (Auer et al. 2002)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Sources, Vector, number
from andrea_plugins.policies.estimates import importance, log_total, ordered, unit
from andrea_plugins.policies.mixing import Mask, smoothed, softmax


@attrs.frozen(eq=False)
class LogWeights:
    """What exponential weights remember: the logarithm of each source's weight, (K,); only differences matter."""

    values: Vector


@attrs.frozen
class Exp3:
    """Propose p = (1 - gamma) w / sum w + gamma / K over the K active sources.

    Source: EXP3 (Auer, Cesa-Bianchi, Freund, Schapire 2002, figure 1): w_a *= exp(gamma x_a / (K p_a)) for the source a
    that was drawn. Reward: mapped from [`low`, `high`] to [0, 1] and clipped.
    Pull model: one source a phase or a mixed batch: source k is credited x_k s_k / p_k for its share s_k of the phase's
    tokens, unbiased in both, and the paper's rule when s is 0 or 1. p is the *landed* probability, K the number of
    sources that had one.
    Unseen sources: no change. One drawn without a known reward counts as the middle of the range. A source that could
    not be drawn (weight 0) keeps its part of the total weight, so it returns after an exclusion with the share it had.
    Departures: mixed batches; log domain. The paper guarantees p >= gamma / K; where landing left less, the estimate is
    divided by gamma / K, so that no exponent exceeds 1. SMPyBandits' default gamma is .01, which hardly moves in 1,000
    phases.
    """

    gamma: float = number(default=0.1, above=0, at_most=1)
    low: float = number(default=-1.0, at_least=-1e100, at_most=1e100)
    high: float = number(default=1.0, at_least=-1e100, at_most=1e100)
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits(
        reward=(-1.0, 1.0), pull="mixed", unseen="keeps its weight; a barred one keeps its part of the total"
    )

    def __attrs_post_init__(self) -> None:
        """Raise ValueError unless low < high."""
        ordered(self.low, self.high)

    def start(self, sources: Sources) -> LogWeights:
        """Return equal weights."""
        return LogWeights(np.zeros(len(sources)))

    def propose(self, state: LogWeights, moment: Moment, rng: np.random.Generator) -> Vector:
        """Return EXP3's distribution (K,) over the active sources."""
        return smoothed(softmax(state.values, moment.active), self.gamma, moment.active)

    def update(self, state: LogWeights, outcome: Outcome) -> LogWeights:
        """Return the weights after the phase."""
        drawable = outcome.weights > 0
        gain = exponents(outcome, self.gamma, unit(outcome, self.low, self.high))
        return LogWeights(same_total(state.values, state.values + gain, drawable))


def exponents(outcome: Outcome, gamma: float, reward: Vector) -> Vector:
    """Return gamma / K times the estimated rewards (K,), each in [0, 1]."""
    rate = gamma / np.count_nonzero(outcome.weights > 0)
    gains: Vector = rate * importance(outcome, least=rate) * reward
    return gains


def same_total(before: Vector, after: Vector, among: Mask) -> Vector:
    """Return log weights: `after` for the sources `among`, scaled to the total they had; `before` for the others."""
    return np.where(among, after - (log_total(after[among]) - log_total(before[among])), before)
