"""Improvement: reward a source whose loss falls below its own moving average (ANDREA's reward, signed)."""

import math
from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Observation, RewardTraits, Scores, Sources, Vector, number, one_of, positive
from andrea_plugins.rewards.normalisers import ANY, KINDS, Scale, declared, rescaled, started


@attrs.frozen(eq=False)
class Averages:
    """What the reward remembers: the moving average of each source's loss, and the normaliser's state."""

    loss: Vector  # (K,) nats a token, NaN before a source's first pull
    pulls: Vector  # (K,) pulls that the average has seen
    scale: Scale


@attrs.frozen
class Improvement:
    """Score a pull by (the moving average before it) - (its loss), and a phase by the mean over its pulls.

    Source: ANDREA's reward lesson: one average a source, moved by that source's pulls alone.
    Pull model: a pull is the rows of one source in one training step: their token-weighted mean loss, in step order.
    Unseen sources: NaN, and their average stays. A source's first pull only starts its average and gives no score.

    `form = "signed"` (default) keeps the sign. The average moves by max(`alpha`, 1 / pulls), `alpha` 0.02 if not given:
    one that is as fast as learning forgets what it learns from, and pays a source for ever for a lucky first loss. With
    `normaliser = "deviation"` (default) the phase score is divided by D sqrt(alpha / (2 - alpha)), the standard error
    of a moving average of such scores, where D is a moving root mean square (rate `alpha`) of all sources' phase
    scores, this phase included. Range: a root mean square of about sqrt((2 - alpha) / alpha), 10 by default, whatever
    the loss's scale, and at most sqrt((2 - alpha) K) / alpha; noise alone averages to 0. The other normalisers are
    those of the other rewards (see `loss`), with `alpha` as the rate. With `normaliser = "none"` the scores are nats a
    token.
    `form = "andrea"` is max(0, average - loss) x 1000 a pull, never normalised, `alpha` 0.1 if not given: range 0 to
    about 1000. It pays for spread instead of learning (a bandit parks on pure noise), so it is not the default.
    Departures: sign, rate and normaliser are this project's; ANDREA does not say how a first pull is treated.
    """

    form: str = one_of("signed", "andrea", default="signed")
    normaliser: str = one_of(*KINDS, default="deviation")
    alpha: float | None = positive(default=None, at_most=1.0)
    reservoir: int = number(default=1000, at_least=2, at_most=1_000_000)
    needs: ClassVar[frozenset[str]] = frozenset()

    @property
    def rate(self) -> float:
        """The rate of the moving average: `alpha`, or what suits the form."""
        if self.alpha is not None:
            return self.alpha
        return 0.1 if self.form == "andrea" else 0.02

    @property
    def traits(self) -> RewardTraits:
        """A difference to an average that is about 1 / alpha pulls old."""
        if self.form == "andrea":
            return RewardTraits((0.0, math.inf), staleness=1.0 / self.rate, unit="thousandths of a nat a token")
        return declared(self.normaliser, RewardTraits(ANY, staleness=1.0 / self.rate))

    def start(self, sources: Sources) -> Averages:
        """Return averages of nothing."""
        kind = self.normaliser if self.form == "signed" else "none"
        return Averages(np.full(len(sources), np.nan), np.zeros(len(sources)), started(kind, self.reservoir))

    def score(self, state: Averages, observation: Observation, rng: np.random.Generator) -> tuple[Scores, Averages]:
        """Return the rewards (K,), NaN where no pull gave a score, and the moved averages."""
        losses, warm = pull_losses(observation), self.form == "signed"
        scores, average = below_average(losses, state.loss, self.rate, state.pulls if warm else None)
        pulls = state.pulls + (~np.isnan(losses)).sum(0)
        if self.form == "andrea":
            return phase_mean(np.maximum(scores, 0.0) * 1000.0), Averages(average, pulls, state.scale)
        rewards, scale = rescaled(self.normaliser, state.scale, phase_mean(scores), self.rate, rng)
        return rewards, Averages(average, pulls, scale)


def pull_losses(observation: Observation) -> Vector:
    """Return the loss of each pull in nats a token, (steps, K); NaN where a step drew nothing of a source."""
    steps, count = len(observation.source), len(observation.weights)
    pull = (np.arange(steps)[:, None] * count + observation.source).ravel()
    sums = np.bincount(pull, observation.loss.ravel(), steps * count)
    tokens = np.bincount(pull, observation.tokens.ravel(), steps * count)
    there = tokens > 0
    losses = np.where(there, sums / np.where(there, tokens, 1.0), np.nan)
    return np.where(np.isfinite(losses), losses, np.nan).reshape(steps, count)


def below_average(losses: Vector, average: Vector, alpha: float, pulls: Vector | None = None) -> tuple[Vector, Vector]:
    """Return by how much each pull (steps, K) lies below the average before it, and the average (K,) after the last.

    With `pulls`, the number of each source's earlier ones (K,), the average moves by 1 / n at its n-th pull while that
    is more than `alpha`. Pull by pull in plain numbers: most sources have no pull in most steps.
    """
    scores, moved = np.full(losses.T.shape, np.nan), average.copy()
    known = ~np.isnan(losses.T)
    shown, found, first = losses.T[known].tolist(), [], 0
    for source, count in enumerate(known.sum(1).tolist()):
        if count:
            seen = math.inf if pulls is None else float(pulls[source])
            mine = shown[first : first + count]
            scored, moved[source] = _pull_by_pull(mine, float(average[source]), alpha, seen)
            found += scored
            first += count
    scores[known] = found
    return np.ascontiguousarray(scores.T), moved  # the order in memory is the order of later sums


def _pull_by_pull(losses: list[float], mean: float, alpha: float, seen: float) -> tuple[list[float], float]:
    """Return the scores of one source's pulls and its average after them; `seen` pulls came before."""
    scores = []
    if (seen + 1.0) * alpha >= 1.0:  # warm already: the rate stays, and the loop is a quarter quicker
        for loss in losses:
            score = mean - loss
            scores.append(score)
            mean = mean - alpha * score if mean == mean else loss
        return scores, mean
    for loss in losses:
        score = mean - loss
        scores.append(score)
        seen += 1.0
        rate = alpha if seen * alpha >= 1.0 else 1.0 / seen
        mean = mean - rate * score if mean == mean else loss
    return scores, mean


def phase_mean(scores: Vector) -> Vector:
    """Return the mean over pulls (K,), NaN where there is none."""
    known = ~np.isnan(scores)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.where(known, scores, 0.0).sum(0) / known.sum(0)
    return np.where(np.isfinite(mean), mean, np.nan)
