"""DoGE: raise the sources whose gradients agree with those of all, or of the target sources (Fan et al. 2024)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import (
    Gradients,
    Moment,
    Outcome,
    PolicyTraits,
    Proposal,
    Sources,
    Vector,
    check_sources,
    one_of,
    positive,
    source_names,
)
from andrea_plugins.policies.mixing import Mask, lowered, softmax

CLIP = 5.0
"""The released code's bound on a score, in units of the learning rate (its settings `dw_min` = 0, `dw_max` = 5)."""

LARGEST = 50.0
"""One update multiplies no weight by more than e^50."""

TINY = 1e-300
"""Stands for a mean weight of 0 under a logarithm."""


@attrs.frozen(eq=False)
class DogeWeights:
    """What DoGE remembers, (K,) each."""

    log: Vector  # logarithms of the weights, up to a constant
    mean: Vector  # mean of the weights after each update so far
    score: Vector  # of the last phase, NaN where there was none
    target: Mask  # the sources whose losses are to fall
    updates: int


@attrs.frozen
class Doge:
    """Multiply the weight of source i by exp(s_i / mu) after each phase and propose the weights.

    Source: DoGE (2310.15393, algorithm 1), checked against Olivia-fsm/DoGE 88400e9. The score is s_i = lr <g_i, sum_j
    t_j>, g_i the source's gradient on training text, t_j those of the targets: all sources, or `targets`. `text` says
    where targets are measured: on "train" text (the paper's universal case uses one batch for both) or "heldout".
    `mode = "paper"` (default) is that. `"released"` is the repository's: without j = i when all are targets, divided by
    (mean |g| + 1e-6), clipped to [0, 5 lr], so that a source that disagrees falls only beside others that rise.
    Only lr / mu matters; `lr` is a constant here, the repository's peak rate, `mu` its code's default (config: .01).
    `weights = "average"` proposes the mean of all weights so far, which the paper trains its final model with.
    Reward: none is read. Pull model: none, a phase gives every source its gradient.
    Unseen sources: one without gradients, as an excluded one, keeps its part of the total weight.
    Departures: an update a phase, not a step; the paper's proxy draws uniformly and weighs the loss, here the weights
    are what is drawn by; no weight falls below e^-100 of the largest. The released code also clips each g_i to the
    trainer's gradient norm (5 in its config) and can smooth the weights (`reweight_eps`, 0 by default): not here.
    """

    mode: str = one_of("paper", "released", default="paper")
    lr: float = positive(default=5e-4)
    mu: float = positive(default=0.05)
    targets: tuple[str, ...] = source_names(default=())
    text: str = one_of("train", "heldout", default="train")
    weights: str = one_of("current", "average", default="current")
    needs: ClassVar[frozenset[str]] = frozenset({"source_gradients"})
    traits: ClassVar[PolicyTraits] = PolicyTraits(pull="mixed", unseen="keeps its part of the total weight")

    def start(self, sources: Sources) -> DogeWeights:
        """Return equal weights; raises ScenarioError for a target that is no source."""
        check_sources(self.targets, sources, "targets")
        count = len(sources)
        target = np.array([not self.targets or name in self.targets for name in sources.names], dtype=np.bool_)
        return DogeWeights(np.zeros(count), np.full(count, 1.0 / count), np.full(count, np.nan), target, 0)

    def propose(self, state: DogeWeights, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return the weights of the active sources, (K,); notes `score` and `average`."""
        log = state.log if self.weights == "current" else np.log(np.maximum(state.mean, TINY))
        return Proposal(softmax(log, moment.active), notes={"score": state.score, "average": state.mean})

    def update(self, state: DogeWeights, outcome: Outcome) -> DogeWeights:
        """Return the weights after the phase's gradients."""
        gradients = outcome.observation.gradients
        if gradients is None:
            return state
        score = self._scores(gradients, state.target)
        log = exponentiated(state.log, score, self.mu)
        updates = state.updates + 1
        mean = state.mean + (softmax(log, np.ones(len(log), np.bool_)) - state.mean) / updates
        return DogeWeights(log, mean, score, state.target, updates)

    def _scores(self, gradients: Gradients, target: Mask) -> Vector:
        """Return the scores (K,), NaN for a source without a gradient."""
        products = np.array(gradients.train if self.text == "train" else gradients.heldout)
        if self.mode == "released" and target.all():
            np.fill_diagonal(products, 0.0)
        square = np.diag(np.asarray(gradients.train))
        summed = self.lr * np.where(np.isfinite(products), products, 0.0)[:, target].sum(1)
        known = np.isfinite(square)
        if self.mode == "released" and known.any():
            summed = summed / (np.sqrt(square[known]).mean() + 1e-6)
            summed = np.clip(summed, 0.0, CLIP * self.lr)
        return np.where(known, summed, np.nan)


def exponentiated(log: Vector, score: Vector, mu: float) -> Vector:
    """Return log-weights (K,) with score / mu added, those of NaN scores at their part of the total weight."""
    known = np.isfinite(score)
    if not known.any():
        return log
    moved = log[known] + np.clip(score[known] / mu, -LARGEST, LARGEST)
    after = np.array(log)
    after[known] = moved + np.logaddexp.reduce(log[known]) - np.logaddexp.reduce(moved)
    return lowered(after)
