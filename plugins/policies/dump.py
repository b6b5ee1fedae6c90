"""DUMP: a softmax over windowed mean rewards plus a UCB bonus (Wang et al. 2025, 2504.09710)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Proposal, Sources, Vector, number, positive
from andrea_plugins.policies.mixing import LARGEST, heard, softmax, tempered


@attrs.frozen(eq=False)
class Window:
    """The last rewards of each source, newest last, and its pulls over the whole run."""

    rewards: Vector  # (K, window), NaN where there is none yet
    pulls: Vector  # (K,)


@attrs.frozen
class Dump:
    """Propose softmax((m + c sqrt(2 ln(N + 1) / (n + 1))) / temperature), m the mean size of a window of rewards.

    Source: Wang et al. 2025, 2504.09710: distribution-level curricula for post-training, where the reward is an
    advantage, of size about 1. n counts a source's pulls and N all.
    Reward: of size about 1, as `improvement` gives. `absolute` takes its size, as the paper does with advantages; a
    source that is pure noise then looks like one that learns fast. `absolute = false` keeps the sign, which cures
    that.
    Pull model: mixed batch; a phase is one pull, shared among the sources by their part of its tokens.
    Unseen sources: the window stays, the bonus grows. Before its first reward a source's mean is 0.
    Departures: one reward a source and phase instead of one a sample, so the window is in phases. The authors' code
    updates weights only when its loader restarts, and saves none of this state.
    """

    window: int = number(default=300, at_least=1, at_most=100_000)
    temperature: float = positive(default=0.1)
    c: float = number(default=1.0, at_least=0)
    absolute: bool = True
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits((-1.0, 1.0), "mixed", "the mean stays, the bonus grows")

    def start(self, sources: Sources) -> Window:
        """Return empty windows."""
        return Window(np.full((len(sources), self.window), np.nan), np.zeros(len(sources)))

    def propose(self, state: Window, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return the mixture (K,) over the active sources; note `score`, NaN where excluded."""
        score = self.scores(state)
        weights = softmax(tempered(score, self.temperature), moment.active)
        return Proposal(weights, notes={"score": np.where(moment.active, score, np.nan)})

    def scores(self, state: Window) -> Vector:
        """Return the scores (K,): windowed mean plus bonus."""
        rewards = np.abs(state.rewards) if self.absolute else state.rewards
        known = ~np.isnan(rewards)
        mean = np.where(known, rewards, 0.0).sum(1) / np.maximum(known.sum(1), 1)
        bonus: Vector = np.sqrt(2.0 * np.log(state.pulls.sum() + 1.0) / (state.pulls + 1.0))
        scores: Vector = mean + min(self.c, LARGEST) * bonus
        return scores

    def update(self, state: Window, outcome: Outcome) -> Window:
        """Return the windows with the phase's rewards as the newest, where there are any."""
        rewards = pushed(state.rewards, heard(outcome, "reward"))
        return Window(rewards, state.pulls + outcome.share)


def pushed(window: Vector, new: Vector) -> Vector:
    """Return windows (K, n) with the new values (K,) as their newest, the oldest dropped; NaN changes nothing."""
    moved = np.concatenate([window[:, 1:], new[:, None]], axis=1)
    return np.where(np.isnan(new)[:, None], window, moved)
