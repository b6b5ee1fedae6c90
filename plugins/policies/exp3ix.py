"""EXP3-IX: exponential weights on losses with implicit exploration (Neu 2015, 1506.03271)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Sources, Vector, number
from andrea_plugins.policies.estimates import NEVER, ordered, unit
from andrea_plugins.policies.mixing import softmax


@attrs.frozen(eq=False)
class Losses:
    """What loss-based bandits remember: the estimated losses so far, the least one subtracted, and how many phases."""

    values: Vector  # (K,)
    phases: int


@attrs.frozen
class Exp3Ix:
    """Propose p ~ exp(-eta_t L), where L sums the estimated losses and eta_t = sqrt(ln K / (K t)).

    Source: EXP3-IX (Neu 2015, 1506.03271, algorithm 1 and theorem 1 with a rate that falls): the loss l of the source
    that was drawn is estimated as l / (p + gamma_t), gamma_t = eta_t / 2, which explores without a uniform share.
    Reward: mapped from [`low`, `high`] to [0, 1] and clipped; the loss is 1 minus that.
    Pull model: one source a phase or a mixed batch: source k is charged l_k s_k / (p_k + gamma_t) for its share s_k of
    the phase's tokens, the paper's rule when s is 0 or 1. p is the *landed* probability, K counts the sources that had
    one.
    Unseen sources: no change. One drawn without a known reward counts as the middle of the range. A source that could
    not be drawn (weight 0) is charged the phase's mean loss, so its standing among the others stays.
    Departures: mixed batches; weight-0 sources, of which the paper has none.
    """

    low: float = number(default=-1.0, at_least=-1e100, at_most=1e100)
    high: float = number(default=1.0, at_least=-1e100, at_most=1e100)
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits(
        reward=(-1.0, 1.0), pull="mixed", unseen="keeps its loss; a barred one is charged the mean"
    )

    def __attrs_post_init__(self) -> None:
        """Raise ValueError unless low < high."""
        ordered(self.low, self.high)

    def start(self, sources: Sources) -> Losses:
        """Return losses of nothing."""
        return Losses(np.zeros(len(sources)), 0)

    def propose(self, state: Losses, moment: Moment, rng: np.random.Generator) -> Vector:
        """Return EXP3-IX's distribution (K,) over the active sources."""
        rate = falling_rate(int(np.count_nonzero(moment.active)), state.phases + 1)
        return softmax(-rate * state.values, moment.active)

    def update(self, state: Losses, outcome: Outcome) -> Losses:
        """Return the losses after the phase."""
        rate = falling_rate(int(np.count_nonzero(outcome.weights > 0)), state.phases + 1)
        loss = 1.0 - unit(outcome, self.low, self.high)
        estimate = outcome.share * loss / np.maximum(outcome.weights + rate / 2.0, NEVER)
        return charged(state, outcome, estimate, loss)


def falling_rate(count: int, phase: int) -> float:
    """Return eta_t = sqrt(ln K / (K t))."""
    return float(np.sqrt(np.log(count) / (count * phase)))


def charged(state: Losses, outcome: Outcome, estimate: Vector, loss: Vector) -> Losses:
    """Return the losses plus `estimate` (K,) where a source could be drawn, plus the phase's mean `loss` elsewhere."""
    mean = float((outcome.share * loss).sum())
    total = state.values + np.where(outcome.weights > 0, estimate, mean)
    return Losses(total - total.min(), state.phases + 1)
