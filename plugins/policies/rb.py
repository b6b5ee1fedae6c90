"""R&B: weigh sources by how their gradients agree with that of the present mixture (Ge et al. 2025, Balance)."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Sources, Vector, positive
from andrea_plugins.policies.mixing import softmax


@attrs.frozen(eq=False)
class Logits:
    """What R&B remembers: the exponents of the weights, (K,), each at most `strength` in size."""

    values: Vector


@attrs.frozen
class RegroupBalance:
    """Propose p' = softmax(lambda G p / |G p|) over the active sources, with the Gram matrix G of their gradients.

    Source: the Balance half of R&B (2505.00358): p are the weights of the phase, G_ij = <g_i, g_j> of training text, so
    that (G p)_i is how well source i's gradient agrees with the mixture's. `strength` is lambda; its default is this
    project's, the paper's values were not found. No ratio of two weights exceeds e^(2 lambda).
    Reward: none is read. Pull model: none, a phase gives every source its gradient. The first phase is uniform.
    Unseen sources: one without a gradient, as an excluded one, keeps its exponent.
    Departures: sources are given, not regrouped by clustering; gradients are measured at the phase's end, on text of
    their own, where the paper sums those that training computes anyway (hence its .01 % overhead); no weight is carried
    over but through G p. No released code was seen.
    """

    strength: float = positive(default=1.0, at_most=100.0)
    needs: ClassVar[frozenset[str]] = frozenset({"source_gradients"})
    traits: ClassVar[PolicyTraits] = PolicyTraits(pull="mixed", unseen="keeps its exponent")

    def start(self, sources: Sources) -> Logits:
        """Return exponents of 0: equal weights."""
        return Logits(np.zeros(len(sources)))

    def propose(self, state: Logits, moment: Moment, rng: np.random.Generator) -> Vector:
        """Return the softmax (K,) over the active sources."""
        return softmax(state.values, moment.active)

    def update(self, state: Logits, outcome: Outcome) -> Logits:
        """Return the exponents after the phase's gradients."""
        gradients = outcome.observation.gradients
        if gradients is None:
            return state
        return Logits(balanced(np.asarray(gradients.train), outcome.weights, self.strength, state.values))


def balanced(gram: Vector, weights: Vector, strength: float, before: Vector) -> Vector:
    """Return lambda G p / |G p| (K,), and `before` where G is not known or G p is 0.

    A source of unknown gradient adds nothing to G p.
    """
    known = np.isfinite(np.diag(gram))
    pull = np.where(np.isfinite(gram), gram, 0.0) @ weights
    largest = np.abs(pull).max()
    if largest == 0:
        return before
    direction = pull / largest  # first, so that no square overflows
    exponents = strength * direction / np.sqrt((direction**2).sum())
    return np.where(known, exponents, before)
