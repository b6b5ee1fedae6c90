"""Tsallis-INF: one bandit that is optimal for stochastic and for adversarial rewards (Zimmert, Seldin, 1807.07623)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Sources, Vector, number, one_of
from andrea_plugins.policies.estimates import importance, ordered, unit
from andrea_plugins.policies.exp3ix import Losses, charged

STEPS = 100
"""More Newton steps than any number of sources needs: each but the last few shrinks the excess by 9/4."""


@attrs.frozen
class TsallisInf:
    """Propose p_k = 4 / (eta_t (L_k - x))^2, with the x that makes the sum 1 and L the estimated losses so far.

    Source: 1/2-Tsallis-INF (Zimmert, Seldin 2021, 1807.07623, algorithms 1 and 2). `estimator = "rv"` (default, reduced
    variance): (l - B) 1[drawn] / p + B with B = 1/2 where p >= eta_t^2, else 0, and eta_t = 4 / sqrt(t); "iw":
    l 1[drawn] / p and eta_t = 2 / sqrt(t) (theorem 1).
    Reward: mapped from [`low`, `high`] to [0, 1] and clipped; the loss l is 1 minus that.
    Pull model: one source a phase or a mixed batch: 1[drawn] becomes the source's share of the phase's tokens, which
    keeps the estimate unbiased and is the paper's rule when shares are 0 or 1. p is the *landed* probability.
    Unseen sources: as the estimator says (rv: charged B). One drawn without a known reward counts as the middle of the
    range. A source that could not be drawn (weight 0) is charged the phase's mean loss, so its standing stays.
    Departures: mixed batches; a landed p under 1e-12 counts as 1e-12. SMPyBandits takes eta_t = 1 / sqrt(t), no rv.
    """

    estimator: str = one_of("rv", "iw", default="rv")
    low: float = number(default=-1.0, at_least=-1e100, at_most=1e100)
    high: float = number(default=1.0, at_least=-1e100, at_most=1e100)
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits(
        reward=(-1.0, 1.0), pull="mixed", unseen="charged the estimator's baseline; a barred one the mean"
    )

    def __attrs_post_init__(self) -> None:
        """Raise ValueError unless low < high."""
        ordered(self.low, self.high)

    def start(self, sources: Sources) -> Losses:
        """Return losses of nothing."""
        return Losses(np.zeros(len(sources)), 0)

    def propose(self, state: Losses, moment: Moment, rng: np.random.Generator) -> Vector:
        """Return Tsallis-INF's distribution (K,) over the active sources."""
        weights = np.zeros(len(state.values))
        weights[moment.active] = distribution(state.values[moment.active], self.rate(state.phases + 1))
        return weights

    def update(self, state: Losses, outcome: Outcome) -> Losses:
        """Return the losses after the phase."""
        loss = 1.0 - unit(outcome, self.low, self.high)
        base = self.baseline(outcome.weights, state.phases + 1)
        return charged(state, outcome, (loss - base) * importance(outcome) + base, loss)

    def rate(self, phase: int) -> float:
        """Return eta_t of phase t = 1, 2, ..."""
        return float((4.0 if self.estimator == "rv" else 2.0) / np.sqrt(phase))

    def baseline(self, weights: Vector, phase: int) -> Vector:
        """Return B (K,): what the estimator charges before it looks at the loss."""
        if self.estimator == "iw":
            return np.zeros(len(weights))
        return np.where(weights >= self.rate(phase) ** 2, 0.5, 0.0)


def distribution(losses: Vector, rate: float) -> Vector:
    """Return 4 / (rate (L - x))^2, (K,), normalised by Newton's method from the side where it converges steadily.

    With z = rate (L - min L) >= 0 the sum of 4 / (z + y)^2 is convex and falls in y; y = 2 gives at least 1, so the
    steps from there rise to the root and never pass it.
    """
    distance, y = np.minimum(rate * (losses - losses.min()), 1e100), 2.0
    for _ in range(STEPS):
        terms = 4.0 / (distance + y) ** 2
        excess = float(terms.sum()) - 1.0
        if excess <= 1e-15:
            break
        y += excess / float((2.0 * terms / (distance + y)).sum())
    weights: Vector = terms / terms.sum()
    return weights
