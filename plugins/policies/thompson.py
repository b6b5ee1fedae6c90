"""Thompson: draw each source's mean reward from its posterior and follow the best draw; Beta or Gaussian."""

import math
from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, PolicyTraits, Proposal, Sources, Vector, number, one_of, positive
from andrea_plugins.policies.estimates import ordered, unit
from andrea_plugins.policies.tally import Tally, credit, credits_of, toward


@attrs.frozen(eq=False)
class Posterior(Tally):
    """A tally, and how large the rewards in it are."""

    squares: float  # the summed squares of the known rewards

    @classmethod
    def of(cls, count: int) -> "Posterior":
        """Return a posterior of nothing for `count` sources."""
        return cls(np.zeros(count), np.zeros(count), np.zeros(count), 0.0)

    @property
    def size(self) -> float:
        """The root mean square of all known rewards, 1 before the first that is not 0."""
        known = float(self.known.sum())
        return math.sqrt(self.squares / known) if known > 0 and self.squares > 0 else 1.0


@attrs.frozen
class Thompson:
    """Walk a `step` of the way to the vertex that is best for one draw from the posterior of the mean rewards.

    Source: `family = "gaussian"` (default): theta_k ~ N(X_k / (n_k + 1), spread^2 / (n_k + 1)), for n_k pulls with
    summed reward X_k (Agrawal, Goyal 2013, 1209.3353, algorithm 2, where `spread` is 1, for rewards in [0, 1]).
    Without a `spread` it is the root mean square of all rewards so far: rewards of any scale and sign give the same
    walk. One that is too small for the rewards never tries most sources: a source without pulls is drawn from
    N(0, spread^2), and beside means of several spreads it does not win.
    `family = "beta"`: theta_k ~ Beta(S_k + 1, F_k + 1) (Thompson 1933; Agrawal, Goyal 2012, 1111.1797, algorithms 1
    and 2), for rewards mapped from [`low`, `high`] to [0, 1] and clipped.
    Reward: any scale for gaussian (about `spread` where that is given), in [`low`, `high`] for beta.
    `discount` < 1 multiplies S and F (X and n) in each phase before it is added (Raj, Kalyani 2017, 1707.09727,
    algorithm 1); the prior is not discounted.
    Pull model: a phase is one pull, shared among the sources by their part of its tokens.
    Unseen sources: no change, but for the discount. A pull without a known reward counts as pulled: at the mean for
    gaussian, as half a success for beta.
    Departures: fractional pulls, a step towards a vertex, a measured spread. Rewards between 0 and 1 add fractions to
    S and F; the paper draws a coin for them (same mean, more noise), MABWiser wants a binariser.
    """

    family: str = one_of("beta", "gaussian", default="gaussian")
    discount: float = number(default=1.0, above=0, at_most=1)
    spread: float | None = positive(default=None, at_most=1e100)
    low: float = number(default=-1.0, at_least=-1e100, at_most=1e100)
    high: float = number(default=1.0, at_least=-1e100, at_most=1e100)
    step: float = positive(default=0.5, at_most=1.0)
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits(
        reward=(-1.0, 1.0), pull="mixed", unseen="keeps its posterior, which a discount widens", equivariant=False
    )

    def __attrs_post_init__(self) -> None:
        """Raise ValueError unless low < high."""
        ordered(self.low, self.high)

    def start(self, sources: Sources) -> Posterior:
        """Return a posterior of nothing."""
        return Posterior.of(len(sources))

    def propose(self, state: Posterior, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return w + step (v - w), (K,), for the weights w and the vertex v of a draw; notes `score` (it), `vertex`."""
        spread = state.size if self.spread is None else self.spread
        draw = beta_draw(state, rng) if self.family == "beta" else gaussian_draw(state, spread, rng)
        return toward(draw, moment, self.step)

    def update(self, state: Posterior, outcome: Outcome) -> Posterior:
        """Return the discounted posterior with the phase's pull and rewards added; for beta these lie in [0, 1]."""
        if self.family == "beta":
            outcome = attrs.evolve(outcome, reward=unit(outcome, self.low, self.high))
        tally, (_, known, reward) = credit(state, outcome, self.discount), credits_of(outcome)
        squares = float((reward**2 / np.where(known > 0, known, 1.0)).sum())
        return Posterior(tally.pulls, tally.known, tally.reward, self.discount * state.squares + squares)


def beta_draw(tally: Tally, rng: np.random.Generator) -> Vector:
    """Return one draw (K,) from Beta(S + 1, F + 1); a pull without a known reward is half a success."""
    success = tally.reward + 0.5 * np.maximum(tally.pulls - tally.known, 0.0)
    return rng.beta(1.0 + success, 1.0 + np.maximum(tally.pulls - success, 0.0))


def gaussian_draw(tally: Tally, spread: float, rng: np.random.Generator) -> Vector:
    """Return one draw (K,) from N(X / (known pulls + 1), spread^2 / (pulls + 1))."""
    deviation = spread / np.sqrt(tally.pulls + 1.0)
    draw: Vector = tally.reward / (tally.known + 1.0) + deviation * rng.standard_normal(len(deviation))
    return draw
