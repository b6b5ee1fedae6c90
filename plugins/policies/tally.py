"""Tally: what index policies count of each source, how a phase is credited, and the step to the best vertex."""

import attrs
import numpy as np

from andrea_core import Moment, Outcome, Proposal, Vector
from andrea_plugins.policies.mixing import LARGEST

TINY = 1e-12
"""The smallest number of pulls in a bonus: keeps it finite, so that it never meets a mean of minus infinity as NaN."""


@attrs.frozen(eq=False)
class Tally:
    """What phases have shown of each source, (K,) each."""

    pulls: Vector  # phases credited to a source, by its share of their tokens
    known: Vector  # ... of them, those whose reward is known
    reward: Vector  # the summed reward of the latter

    @classmethod
    def of(cls, count: int) -> "Tally":
        """Return a tally of nothing for `count` sources."""
        return cls(np.zeros(count), np.zeros(count), np.zeros(count))

    @property
    def mean(self) -> Vector:
        """(K,) the mean reward, 0 before the first one."""
        with np.errstate(over="ignore"):
            mean: Vector = self.reward / np.where(self.known > 0, self.known, 1.0)
        return mean


def credit(tally: Tally, outcome: Outcome, discount: float = 1.0) -> Tally:
    """Return the tally, multiplied by `discount`, with the phase's pull and rewards added.

    A phase is one pull, shared among the sources by their part of its tokens: with one source a phase it is the pull of
    a bandit's paper. A share whose reward is not known counts as pulled and leaves the mean.
    """
    share, known, reward = credits_of(outcome)
    return Tally(discount * tally.pulls + share, discount * tally.known + known, discount * tally.reward + reward)


def credits_of(outcome: Outcome) -> tuple[Vector, Vector, Vector]:
    """Return what one phase adds to pulls, known pulls and summed reward, (K,) each."""
    known = np.where(outcome.seen, outcome.share, 0.0)
    return outcome.share, known, known * np.clip(outcome.reward, -LARGEST, LARGEST)


def scores(tally: Tally, c: float) -> Vector:
    """Return the scores (K,) m_k + c sqrt(ln N / n_k), N all pulls; infinite for a source without pulls."""
    total = max(1.0, float(tally.pulls.sum()))  # shares may sum to a hair under 1
    bonus = min(c, LARGEST) * np.sqrt(np.log(total) / np.maximum(tally.pulls, TINY))
    return np.where(tally.pulls > 0, tally.mean + bonus, np.inf)


def toward(score: Vector, moment: Moment, step: float) -> Proposal:
    """Return w + step (v - w), (K,), for the present weights w and the region's vertex v of the best total score.

    On the plain simplex with step = 1 this is "play the arm of the largest score". Ties go to the first source. Notes:
    `score`, NaN where a source is excluded, and `vertex`.
    """
    vertex = moment.region.vertex(score)
    target = moment.weights + step * (vertex - moment.weights)
    return Proposal(target, notes={"score": np.where(moment.active, score, np.nan), "vertex": vertex})
