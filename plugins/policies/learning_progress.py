"""Learning progress: prefer the sources whose score changes fastest (TSCL, Matiisen et al. 2017, 1707.00183)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Proposal, Sources, Vector, fraction, number, one_of, positive
from andrea_plugins.policies.dump import pushed
from andrea_plugins.policies.mixing import Mask, heard, needed, smoothed, softmax


@attrs.frozen(eq=False)
class Scores:
    """The last scores of each source and the phases they belong to, newest last, and the tracked progress."""

    score: Vector  # (K, window), NaN where there is none yet
    phase: Vector  # (K, window)
    progress: Vector  # (K,) Q


@attrs.frozen
class LearningProgress:
    """Track Q <- (1 - alpha) Q + alpha r, r the progress of a source's score, and favour the largest Q.

    Source: Matiisen, Oliver, Cohen, Schulman 2017, 1707.00183. `form = "online"`: r is the last change of the score
    (their Online algorithm). "window" (default): r is the slope of a straight line through the last `window` scores,
    a phase as the unit of time (their Window algorithm). The score is minus the loss, or the reward if `signal` says
    so. Exploration "epsilon": 1 - epsilon on the largest Q, epsilon spread evenly; ties share. "boltzmann": softmax(Q
    / temperature). `absolute` ranks by |Q|, so that what is being forgotten returns.
    Reward: none by default; any with signal "reward".
    Pull model: mixed batch (their batch form: a distribution over sources), one update a phase.
    Unseen sources: score and Q stay.
    Departures: the "naive" and "sampling" teachers are left out. Their scores are accuracies and their temperature
    .0004 belongs to those; for losses .01 is the default here, near a typical slope a phase. Their code's teachers
    use epsilon .01 in the class and .1 in the script.
    """

    form: str = one_of("window", "online", default="window")
    exploration: str = one_of("epsilon", "boltzmann", default="epsilon")
    signal: str = one_of("training", "heldout", "reward", default="training")
    alpha: float = positive(default=0.1, at_most=1.0)
    window: int = number(default=10, at_least=2, at_most=100_000)
    epsilon: float = fraction(default=0.1)
    temperature: float = positive(default=0.01)
    absolute: bool = True
    traits: ClassVar[PolicyTraits] = PolicyTraits(None, "mixed", "score and progress stay")

    @property
    def needs(self) -> frozenset[str]:
        """The held-out loss, if that is the signal."""
        return needed(self.signal)

    def start(self, sources: Sources) -> Scores:
        """Return no scores and no progress."""
        empty = np.full((len(sources), self.window), np.nan)
        return Scores(empty, empty.copy(), np.zeros(len(sources)))

    def propose(self, state: Scores, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return the mixture (K,) over the active sources; note `progress`, NaN where excluded."""
        ranked = np.abs(state.progress) if self.absolute else state.progress
        return Proposal(
            self._spread(ranked, moment.active),
            notes={"progress": np.where(moment.active, state.progress, np.nan)},
        )

    def _spread(self, ranked: Vector, active: Mask) -> Vector:
        """Return the weights (K,) for Q, or its size, by source."""
        if self.exploration == "boltzmann":
            with np.errstate(over="ignore"):  # what overflows is the largest anyway, and softmax bounds it
                return softmax(ranked / self.temperature, active)
        best = active & (ranked == ranked[active].max())
        return smoothed(best / best.sum(), self.epsilon, active)

    def update(self, state: Scores, outcome: Outcome) -> Scores:
        """Return the windows with the phase's scores as the newest, and Q moved where progress could be told."""
        signal = heard(outcome, self.signal)
        score = pushed(state.score, signal if self.signal == "reward" else -signal)
        phase = pushed(state.phase, np.where(np.isnan(signal), np.nan, float(outcome.phase)))
        change = score[:, -1] - score[:, -2] if self.form == "online" else slopes(phase, score)
        known = ~np.isnan(signal) & ~np.isnan(change)
        progress = np.where(known, state.progress + self.alpha * (change - state.progress), state.progress)
        return Scores(score, phase, progress)


def slopes(times: Vector, values: Vector) -> Vector:
    """Return the least-squares slopes of values over times, both (K, n) with NaN where there is none: (K,).

    NaN for a row with fewer than two different times.
    """
    known = ~np.isnan(values)
    count = np.maximum(known.sum(1), 1)[:, None]
    time, value = np.where(known, times, 0.0), np.where(known, values, 0.0)
    off = np.where(known, time - time.sum(1, keepdims=True) / count, 0.0)
    spread = (off**2).sum(1)
    rise = (off * (value - value.sum(1, keepdims=True) / count)).sum(1)
    return np.where(spread > 0, rise / np.where(spread > 0, spread, 1.0), np.nan)
