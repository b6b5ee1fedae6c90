"""ADO: weights that follow how fast each source's loss still falls, by fitted power laws (2410.11820)."""

from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np

from andrea_core import (
    Moment,
    Outcome,
    PolicyTraits,
    Proposal,
    Sources,
    Vector,
    fraction,
    number,
    one_of,
    positive,
    span,
)
from andrea_plugins.policies.history import History
from andrea_plugins.policies.mixing import heard, masked, needed, optional_weights, prior_of, raised
from andrea_plugins.policies.powerlaw import fitted


@attrs.frozen(eq=False)
class Laws:
    """The fitted laws, (K,) each, NaN before the first fit: L(n) = floor + reducible (n / anchor)^-exponent."""

    floor: Vector
    reducible: Vector
    exponent: Vector
    anchor: Vector  # the count at the last point of the fit

    @classmethod
    def none(cls, sources: int) -> "Laws":
        """Return no laws."""
        unknown = np.full(sources, np.nan)
        return cls(unknown, unknown, unknown, unknown)

    def slopes(self, count: Vector) -> Vector:
        """Return by how much the losses fall a token at the counts (K,), NaN where there is no law."""
        above = self.reducible * (count / self.anchor) ** -self.exponent
        return self.exponent * above / count


@attrs.frozen(eq=False)
class Track:
    """What was trained and how losses answered, the laws in force, and the weights so far."""

    history: History
    laws: Laws
    tokens: Vector  # (K,) trained on each source
    prior: Vector  # (K,)
    credit: Vector  # (K,) the moving share of what was trained
    wish: Vector  # (K,) the present mixture, before sources are closed and floors kept
    mean: Vector  # (K,) the mean of all mixtures so far
    phases: int
    fitted_at: int  # the step of the last fit, -1 before it


@attrs.frozen
class Ado:
    """Propose gamma2 rho + (1 - gamma2) mean of past mixtures; rho_i is as mu_i h_i^s times the slope of loss i.

    Source: Jiang et al. 2024, 2410.11820. The slope is alpha_i (L_i - E_i) / n_i of a law L = E + B n^-alpha, fitted
    to each source's losses every `refit` steps (ln L, Huber loss with delta 1e-3, from a grid); h, the moving share
    of what was trained, with rate gamma1, credits a source with what it caused; mu is the `prior`, in proportion to
    the sources' tokens without a table. Until step `start_at` the prior is proposed; steps before `ignore` are not
    fitted to.
    Reward: none is read; the signal is the mean training loss, or "heldout".
    Pull model: mixed batch.
    Unseen sources: nothing is added to their history, h decays. A source without a law yet, or with fewer than 8
    points, keeps its prior share of rho. With 1 / `floor` sources or more the floor leaves only the uniform mixture.
    `count` is the n of a law: "own", the tokens of that source, or "all", the tokens trained in all, as the authors'
    code has it.
    Departures: `floor` holds exactly (the code lifts and then divides, which takes some sources under it again); the
    history is 96 points a source, even in ln n, closest points averaged (theirs keeps every step and smooths with a
    window of 101); the same misfit is lowered by damped Gauss-Newton steps instead of L-BFGS; bounds on alpha are
    hard; the floor E is free, theirs at least 1.65 nats; h and the mean move once a phase. The authors' code averages
    rho where the equation says mixture, takes alpha as at least .05 in the slope, once used sqrt(h (1 - h)), and does
    not restore the selector.
    """

    gamma1: float = positive(default=0.1, at_most=1.0)
    gamma2: float = positive(default=0.1, at_most=1.0)
    s: float = number(default=0.5, at_least=0, at_most=10)
    floor: float = fraction(default=0.01)
    start_at: int = span(default=1000, at_least=0)
    ignore: int = span(default=500, at_least=0)
    refit: int = span(default=1000, at_least=1)
    steepest: float = positive(default=0.8, at_most=10.0)
    count: str = one_of("own", "all", default="own")
    prior: Mapping[str, float] = optional_weights()
    signal: str = one_of("training", "heldout", default="training")
    traits: ClassVar[PolicyTraits] = PolicyTraits(None, "mixed", "no new point, its credit decays")

    @property
    def needs(self) -> frozenset[str]:
        """The held-out loss, if that is the signal."""
        return needed(self.signal)

    def start(self, sources: Sources) -> Track:
        """Return the prior and no history; raises ScenarioError when it names an unknown source."""
        if self.prior:
            prior = prior_of(self.prior, sources, "policy ado, prior")
        else:
            prior = masked(sources.tokens.astype(np.float64), np.ones(len(sources), np.bool_))
        count = len(sources)
        return Track(History.empty(count), Laws.none(count), np.zeros(count), prior, prior, prior, prior, 0, -1)

    def propose(self, state: Track, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return the mixture (K,) over the active sources; notes `exponent`, `irreducible`, NaN where unknown."""
        target = masked(state.wish, moment.active)
        if state.fitted_at >= 0:
            target = raised(target, self.floor, moment.active)
        return Proposal(target, notes={"exponent": state.laws.exponent, "irreducible": state.laws.floor})

    def update(self, state: Track, outcome: Outcome) -> Track:
        """Return the track one phase on, with new laws when they are due."""
        trained = outcome.observation.tokens_by_source().astype(np.float64)
        tokens = state.tokens + trained
        history = state.history
        if outcome.step >= self.ignore:
            loss = heard(outcome, self.signal)
            middle = self._counts(state.tokens + trained / 2)
            history = history.appended(middle, np.where(trained > 0, loss, np.nan), trained)
        laws, fitted_at = state.laws, state.fitted_at
        if self._due(outcome.step, fitted_at):
            laws, fitted_at = self._laws(history, laws), outcome.step
        credit = (1.0 - self.gamma1) * state.credit + self.gamma1 * outcome.share
        rho = self._speeds(laws, tokens, credit, state.prior)
        wish = self.gamma2 * rho + (1.0 - self.gamma2) * state.mean
        mean = state.mean + (wish - state.mean) / (state.phases + 2)  # the prior counts as the first mixture
        return Track(history, laws, tokens, state.prior, credit, wish, mean, state.phases + 1, fitted_at)

    def _counts(self, tokens: Vector) -> Vector:
        """Return the n of each source's law, (K,), at least 1."""
        return np.maximum(tokens if self.count == "own" else np.full(len(tokens), tokens.sum()), 1.0)

    def _due(self, step: int, fitted_at: int) -> bool:
        return step >= self.start_at and (fitted_at < 0 or step - fitted_at >= self.refit)

    def _laws(self, history: History, laws: Laws) -> Laws:
        """Return laws fitted anew where a source has enough points, the old ones elsewhere."""
        fit = fitted(history.count, history.loss, history.used, self.steepest)
        last = np.take_along_axis(history.count, np.maximum(history.used - 1, 0)[:, None], 1)[:, 0]
        new, known = (*fit, np.exp(last)), ~np.isnan(fit.exponent)
        old = laws.floor, laws.reducible, laws.exponent, laws.anchor
        return Laws(*(np.where(known, now, before) for now, before in zip(new, old, strict=True)))

    def _speeds(self, laws: Laws, tokens: Vector, credit: Vector, prior: Vector) -> Vector:
        """Return rho (K,): mu h^s slope, normalised over the sources with a law; the prior for the others."""
        speed = prior * credit**self.s * laws.slopes(self._counts(tokens))
        known = ~np.isnan(speed)
        total = speed[known].sum()
        if not total > 0:
            return prior
        return np.where(known, np.where(known, speed, 0.0) / total * prior[known].sum(), prior)
