"""UCB1: favour the source of largest mean reward plus exploration bonus (Auer, Cesa-Bianchi, Fischer 2002)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, Proposal, Sources, Vector, positive


@attrs.frozen(eq=False)
class Tally:
    """What the phases so far have shown of each source, (K,) each."""

    pulls: Vector  # phases credited to a source, by its share of their tokens
    known: Vector  # ... of them, those whose reward is known
    reward: Vector  # the summed reward of the latter


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
    Departures: a fractional pull, and a step towards a vertex instead of one arm (the seed lessons' bandit phase).
    """

    c: float = positive(default=2**0.5)
    step: float = positive(default=0.5, at_most=1.0)
    needs: ClassVar[frozenset[str]] = frozenset()

    def start(self, sources: Sources) -> Tally:
        """Return a tally of nothing."""
        return Tally(np.zeros(len(sources)), np.zeros(len(sources)), np.zeros(len(sources)))

    def propose(self, state: Tally, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return w + step (v - w), (K,), for the weights w and the best vertex v; notes `score` and `vertex`."""
        score = scores(state, self.c)
        vertex = moment.region.vertex(score)
        target = moment.weights + self.step * (vertex - moment.weights)
        return Proposal(target, notes={"score": np.where(moment.active, score, np.nan), "vertex": vertex})

    def update(self, state: Tally, outcome: Outcome) -> Tally:
        """Return the tally with the phase's pull and rewards added."""
        known = np.where(outcome.seen, outcome.share, 0.0)
        with np.errstate(over="ignore"):  # a sum that overflows is infinite, and an infinite score still ranks
            reward = state.reward + known * outcome.reward
        return Tally(state.pulls + outcome.share, state.known + known, reward)


def scores(tally: Tally, c: float) -> Vector:
    """Return the UCB1 scores (K,): m_k + c sqrt(ln N / n_k), infinite for a source that was never pulled."""
    total = max(1.0, tally.pulls.sum())  # shares may sum to a hair under 1
    pulls = np.maximum(tally.pulls, TINY)
    with np.errstate(over="ignore"):
        mean = tally.reward / np.where(tally.known > 0, tally.known, 1.0)
    return np.where(tally.pulls > 0, mean + c * np.sqrt(np.log(total) / pulls), np.inf)


TINY = 1e-12
"""The smallest number of pulls in a bonus: keeps it finite, so that it never meets a mean of minus infinity as NaN."""
