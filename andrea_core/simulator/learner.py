"""The learner in the model's place: trains a phase's rows by the truth and shows what a trainer would have shown."""

import attrs
import numpy as np

from andrea_core.data.sampler import PhasePlan
from andrea_core.rng import generator
from andrea_core.simulator.truth import Truth
from andrea_core.values import Gradients, Integers, Mask, Observation, Vector

BLOCK = 4096
"""Steps that are computed together: bounds the memory of long phases."""


@attrs.frozen(eq=False)
class Lesson:
    """What a phase did: `progress` (K,) after it, row losses, and one entry a step.

    `row_loss` and `row_after` (steps, rows) are summed losses in nats, before and after the row's own step; `loss`
    (steps,) is the mean in nats a token over all rows, `mean` (steps,) the targets' true mean loss after each step.
    """

    progress: Vector
    row_loss: Vector
    row_after: Vector | None
    loss: Vector
    mean: Vector

    @property
    def lr(self) -> Vector:
        """(steps,) NaN: a learner by law has no learning rate."""
        return np.full(len(self.loss), np.nan)

    @property
    def grad_norm(self) -> Vector:
        """(steps,) NaN: nor has it gradients of parameters."""
        return np.full(len(self.loss), np.nan)


@attrs.frozen(eq=False)
class Learner:
    """Trains by the truth: a row of source i costs L_i plus noise, and its tokens add to the progress they teach.

    The noise of a row's mean loss is normal and the same before and after the row's own step; a loss is never negative.
    It is a pure function of seed and phase, so that policies with equal draws meet equal noise.
    """

    truth: Truth
    tokens_per_row: int
    seed: int

    def start(self) -> Vector:
        """Return the progress (K,) of a learner that has seen nothing."""
        return np.zeros(len(self.truth))

    def train(self, progress: Vector, plan: PhasePlan, step: int, phase: int, *, after: bool) -> Lesson:
        """Return what training a phase's rows shows, from a progress (K,) and `step` finished steps on.

        `after` asks for the rows' losses right after their own step, too.
        """
        noise = generator(self.seed, "row noise", phase).standard_normal(plan.source.shape)
        parts = []
        for first in range(0, len(plan.source), BLOCK):
            block = slice(first, first + BLOCK)
            parts.append(self._block(progress, plan.source[block], noise[block], step + first, after=after))
            progress = parts[-1].progress
        return parts[0] if len(parts) == 1 else _joined(parts)

    def _block(self, progress: Vector, source: Integers, noise: Vector, step: int, *, after: bool) -> Lesson:
        path = self.truth.advance(progress, self.tokens_per_row * drawn(source, len(self.truth)), step)
        losses = self.truth.loss(path)
        noise = noise * self.truth.noise[source]
        row_loss = self._rows(losses[:-1], source, noise)
        return Lesson(
            progress=path[-1],
            row_loss=row_loss,
            row_after=self._rows(losses[1:], source, noise) if after else None,
            loss=row_loss.mean(1) / self.tokens_per_row,
            mean=losses[1:] @ self.truth.share,
        )

    def _rows(self, losses: Vector, source: Integers, noise: Vector) -> Vector:
        """Return the summed losses (steps, rows) of rows, given the sources' losses (steps, K)."""
        mine = losses[np.arange(len(source))[:, None], source]
        return np.asarray(np.maximum(mine + noise, 0.0) * self.tokens_per_row)

    def gradients(self, progress: Vector, active: Mask, step: int, tokens_per_step: int) -> Gradients:
        """Return inner products of gradients that agree with the truth to first order, NaN where not active.

        Scaled so that a step of learning rate 1 on source i alone lowers the loss of source j by <g_i, h_j>: by the
        truth that is H_ij = s_j M_ji (tokens a step) / unit, with s the slope. Two gradients of training text have a
        symmetric, positive semidefinite product: the nearest such matrix to (H + H') / 2.
        """
        effect = (self.truth.slope(progress)[:, None] * self.truth.teaching(step) * tokens_per_step).T
        values, vectors = np.linalg.eigh((effect + effect.T) / 2)
        train = (vectors * np.maximum(values, 0.0)) @ vectors.T
        known = np.outer(active, active)
        return Gradients(np.where(known, (train + train.T) / 2, np.nan), np.where(known, effect, np.nan))

    def observed(self, lesson: Lesson, plan: PhasePlan, weights: Vector, step: int, gradients: Gradients | None, *,
                 heldout: bool) -> Observation:  # fmt: skip
        """Return a phase as an observation; held-out losses are the true ones, without noise."""
        return Observation(
            lesson.row_loss,
            np.full(plan.source.shape, self.tokens_per_row, np.int64),
            plan.source,
            weights,
            step,
            self.truth.loss(lesson.progress) if heldout else None,
            lesson.row_after,
            gradients,
        )


def drawn(source: Integers, count: int) -> Vector:
    """Return how many rows each step drew of each source, (steps, K), from the rows' sources (steps, rows)."""
    steps = len(source)
    place = (np.arange(steps)[:, None] * count + source).ravel()
    return np.bincount(place, minlength=steps * count).reshape(steps, count).astype(np.float64)


def _joined(parts: list[Lesson]) -> Lesson:
    after = [part.row_after for part in parts if part.row_after is not None]
    return Lesson(
        progress=parts[-1].progress,
        row_loss=np.concatenate([part.row_loss for part in parts]),
        row_after=np.concatenate(after) if after else None,
        loss=np.concatenate([part.loss for part in parts]),
        mean=np.concatenate([part.mean for part in parts]),
    )
