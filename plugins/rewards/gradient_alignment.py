"""Gradient alignment: reward a source whose training gradient points where held-out losses fall (as in DoGE)."""

import math
from typing import ClassVar

import attrs
import numpy as np
import numpy.typing as npt

from andrea_core import Observation, RewardTraits, Scores, Sources, Vector, one_of
from andrea_plugins.rewards.normalisers import ANY, Normalised, Scale

Mask = npt.NDArray[np.bool_]

SINGULAR = 1e-10
"""Directions with less than this part of the largest eigenvalue are not told from rounding."""


@attrs.frozen
class GradientAlignment(Normalised):
    """Score source i by its training gradient g_i at the phase's end and a target t, the mean of held-out gradients.

    Source: the scores of DoGE (2310.15393), sum_j <g_i, h_j>; R&B (2505.00358) balances by the same products. To first
    order <g_i, t> is how fast the mean held-out loss falls when a step is taken on source i.
    `form = "product"` is that inner product: large gradients win, whatever made them large.
    `form = "cosine"` (default) is <g_i, t> / (|g_i| |t'|) with t' the part of t in the span of all training gradients:
    range [-1, 1]. Of held-out gradients only their products with training gradients are measured, and what is left out
    is mostly the error of few windows, which no source could follow anyway.
    `target = "mean"` is the mean over all sources that were measured, `"others"` leaves out source i itself (as DoGE's
    released code does): then only transfer counts.
    Pull model: none, every active source is measured, trained or not; the core credits those that were. Unseen sources:
    NaN for one that is closed, without text, or (cosine) without a gradient. Noise: text without anything to learn has
    gradients in random directions, scores average to 0.
    Cost: 2 K backward passes over 4 windows each phase, and K + 2 gradients in memory (see GradientMeter).
    """

    form: str = one_of("cosine", "product", default="cosine")
    target: str = one_of("mean", "others", default="mean")
    needs: ClassVar[frozenset[str]] = frozenset({"source_gradients"})

    @property
    def traits(self) -> RewardTraits:
        """Measured at the phase's end, of either sign."""
        cosine = RewardTraits((-1.0, 1.0), unit="cosine")
        return self.declared(cosine if self.form == "cosine" else RewardTraits(ANY, unit="nats a token a unit of rate"))

    def start(self, sources: Sources) -> Scale:
        """Return the normaliser's state: nothing else is remembered."""
        return self.scale()

    def score(self, state: Scale, observation: Observation, rng: np.random.Generator) -> tuple[Scores, Scale]:
        """Return the alignments (K,), NaN where they were not measured."""
        scores = np.full(len(observation.weights), np.nan)
        gradients = observation.gradients
        if gradients is not None:
            train, heldout = np.asarray(gradients.train), np.asarray(gradients.heldout)
            norms = np.sqrt(np.diag(train))
            known = np.asarray(np.isfinite(norms) if self.form == "product" else norms > 0)
            found = targets(heldout, known, others=self.target == "others")
            scores[known] = np.diag(found)
            if self.form == "cosine":
                scores[known] = cosines(train[np.ix_(known, known)], found)
        return self.rescaled(state, scores, rng)


def targets(heldout: Vector, known: Mask, *, others: bool) -> Vector:
    """Return the products (n, n) of each known source's gradient with the target of each: one column a source.

    NaN where nothing is left for a target.
    """
    products = heldout[known]
    given = np.array([np.isfinite(column).all() for column in products.T], dtype=np.bool_)
    total, left = products[:, given].sum(1, keepdims=True), np.full(len(products), given.sum())
    if others:
        total = total - np.where(given[known], products[:, known], 0.0)
        left = left - given[known]
    return np.where(left > 0, total / np.maximum(left, 1), np.nan)


def cosines(train: Vector, products: Vector) -> Vector:
    """Return the cosine (n,) of each gradient with its target's part in their span.

    `train` (n, n) are the gradients' products, `products` (n, n) those with the target of each, one column a source.
    """
    norms = np.sqrt(np.diag(train))
    correlation, along = train / np.outer(norms, norms), products / norms[:, None]
    asked = np.isfinite(along).all(0)
    answer = np.full(len(norms), np.nan)
    if not asked.any():
        return answer
    values, vectors = np.linalg.eigh(correlation)
    kept = values > SINGULAR * values.max()
    parts = vectors[:, kept].T @ along[:, asked] / np.sqrt(values[kept])[:, None]
    length = np.sqrt((parts**2).sum(0))
    answer[asked] = np.clip(np.diag(along)[asked] / np.where(length > 0, length, math.inf), -1.0, 1.0)
    return answer
