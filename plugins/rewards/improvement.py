"""Improvement: reward a source whose loss falls below its own moving average (ANDREA's reward, signed)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Observation, Scores, Sources, Vector, one_of, positive


@attrs.frozen(eq=False)
class Averages:
    """What the reward remembers: the moving average of each source's loss, and how large scores have been so far."""

    loss: Vector  # (K,) nats a token, NaN before a source's first pull
    deviation: float  # root mean square of past phase scores, all sources together
    phases: int  # phases that gave a score


@attrs.frozen
class Improvement:
    """Score a pull by (the moving average before it) - (its loss), and a phase by the mean over its pulls.

    Source: ANDREA's reward lesson: one average a source, rate `alpha` = 0.1, moved by that source's pulls alone.
    Pull model: a pull is the rows of one source in one training step: their token-weighted mean loss, in step order.
    Unseen sources: NaN, and their average stays. A source's first pull only starts its average and gives no score.

    `form = "signed"` (default) keeps the sign. With `normaliser = "deviation"` (default) the phase score is divided by
    D sqrt(alpha / (2 - alpha)), the standard error of a moving average of such scores, where D is a moving root mean
    square (rate `alpha`) of all sources' phase scores, this phase included. Range: a few units around 0, whatever the
    loss's scale, at most sqrt((2 - alpha) K) / alpha; noise alone averages to 0. With `normaliser = "none"` the scores
    are nats a token.
    `form = "andrea"` is max(0, average - loss) x 1000 a pull, never normalised: range 0 to about 1000. It pays for
    spread instead of learning (a bandit parks on a source that is pure noise), which is why it is not the default.
    Departures: the sign and the normaliser are this project's; ANDREA does not say how a first pull is treated.
    """

    form: str = one_of("signed", "andrea", default="signed")
    normaliser: str = one_of("deviation", "none", default="deviation")
    alpha: float = positive(default=0.1, at_most=1.0)
    needs: ClassVar[frozenset[str]] = frozenset()

    def start(self, sources: Sources) -> Averages:
        """Return averages of nothing."""
        return Averages(np.full(len(sources), np.nan), 0.0, 0)

    def score(self, state: Averages, observation: Observation, rng: np.random.Generator) -> tuple[Scores, Averages]:
        """Return the rewards (K,), NaN where no pull gave a score, and the moved averages."""
        scores, average = below_average(pull_losses(observation), state.loss, self.alpha)
        if self.form == "andrea":
            return phase_mean(np.maximum(scores, 0.0) * 1000.0), attrs.evolve(state, loss=average)
        phase = phase_mean(scores)
        if np.isnan(phase).all():
            return phase, attrs.evolve(state, loss=average)
        rate = max(self.alpha, 1.0 / (state.phases + 1))
        deviation = float(np.hypot((1.0 - rate) ** 0.5 * state.deviation, rate**0.5 * root_mean_square(phase)))
        moved = Averages(average, deviation, state.phases + 1)
        if self.normaliser == "none" or deviation == 0:
            return phase, moved
        return phase / deviation * (2.0 / self.alpha - 1.0) ** 0.5, moved


def pull_losses(observation: Observation) -> Vector:
    """Return the loss of each pull in nats a token, (steps, K); NaN where a step drew nothing of a source."""
    steps, count = len(observation.source), len(observation.weights)
    pull = (np.arange(steps)[:, None] * count + observation.source).ravel()
    sums = np.bincount(pull, observation.loss.ravel(), steps * count)
    tokens = np.bincount(pull, observation.tokens.ravel(), steps * count)
    with np.errstate(invalid="ignore", divide="ignore"):
        losses = np.where(tokens > 0, sums / tokens, np.nan)
    return np.where(np.isfinite(losses), losses, np.nan).reshape(steps, count)


def below_average(losses: Vector, average: Vector, alpha: float) -> tuple[Vector, Vector]:
    """Return by how much each pull (steps, K) lies below the average before it, and the average (K,) after the last."""
    scores = np.full(losses.shape, np.nan)
    for step, loss in enumerate(losses):
        scores[step] = average - loss
        moved = np.where(np.isnan(average), loss, average - alpha * scores[step])
        average = np.where(np.isnan(loss), average, moved)
    return scores, average


def phase_mean(scores: Vector) -> Vector:
    """Return the mean over pulls (K,), NaN where there is none."""
    known = ~np.isnan(scores)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.where(known, scores, 0.0).sum(0) / known.sum(0)
    return np.where(np.isfinite(mean), mean, np.nan)


def root_mean_square(values: Vector) -> float:
    """Return the root mean square of the values that are not NaN, the largest factored out so that none overflows."""
    largest = float(np.nanmax(np.abs(values)))
    return largest * float(np.sqrt(np.nanmean((values / largest) ** 2))) if largest > 0 else 0.0
