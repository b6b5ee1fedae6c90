"""RegMix: fits a regression of losses on mixtures to past runs, proposes the mean of the best draws (2407.01492)."""

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import attrs
import numpy as np

from andrea_core import (
    Moment,
    Outcome,
    PolicyTraits,
    Proposal,
    Region,
    Sources,
    Vector,
    file_patterns,
    number,
    one_of,
    weights_by_source,
)
from andrea_plugins.policies.pilots import goal, read_pilots
from andrea_plugins.policies.planned import planned
from andrea_plugins.policies.regressors import Fitted, fitted

WHO = "policy regmix"
STRENGTHS = (0.1, 5.0)
"""Between these the strength of the Dirichlet draws around the prior lies, as in the paper's own design of runs."""


@attrs.frozen(eq=False)
class Forecast:
    """What was fitted: one regression for each loss that counts, and the mean weights of the pilots (K,)."""

    model: Fitted
    goal: Vector  # (D,) how much each fitted loss counts
    prior: Vector


@attrs.frozen
class RegMix:
    """Fit past runs at the start; in each phase propose the mean of the `best` draws in the region by foreseen loss.

    Source: Liu et al. 2024 (2407.01492): LightGBM (learning rate 0.01, up to 1,000 trees, early stopping after 3
    rounds, seed 42), one regression a loss; the mean of the best 128 of 100,000 simulated mixtures.
    `regressor = "lightgbm"` needs the extra `planner`; "linear" (least squares) and "quadratic" (ridge on all products
    of two weights, strength by leave-one-out) need nothing. `runs` are folders of past runs, `tables` CSV files with
    columns `weight.SOURCE` and `loss.SOURCE`. Of a run the final held-out loss (bits per byte) counts and its
    `weights`: "trained", its shares of the tokens, or "landed". An empty `target` counts all measured losses alike.
    `kl` adds KL(w || mean pilot) to the foreseen loss.
    Reward: none is read. Pull model: none; nothing is learnt from this run. Unseen sources: no difference.
    Departures: half of the draws are uniform on the region, half Dirichlet around the mean pilot with the strengths of
    the paper's design, landed on the region; the paper has the latter alone. Early stopping looks at a fifth of the
    pilots, none of which is fitted (the authors' notebook looks at its test rows).
    """

    runs: tuple[str, ...] = file_patterns(default=())
    tables: tuple[str, ...] = file_patterns(default=())
    weights: str = one_of("trained", "landed", default="trained")
    target: Mapping[str, float] = weights_by_source(default=attrs.Factory(dict))
    regressor: str = one_of("lightgbm", "quadratic", "linear", default="lightgbm")
    draws: int = number(default=100_000, at_least=2)
    best: int = number(default=128, at_least=1)
    kl: float = number(default=0.0, at_least=0)
    seed: int = number(default=42, at_least=0)
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits(equivariant=False)

    def start(self, sources: Sources) -> Forecast:
        """Return what was fitted; raises ScenarioError for pilots that are missing, too few, or of other sources."""
        pilots = read_pilots(self.runs, self.tables, self.weights, sources, WHO)
        wanted = goal(self.target, pilots, sources, WHO)
        counts = wanted > 0
        model = fitted(self.regressor, pilots.weights, pilots.losses[:, counts], self.seed, WHO)
        return Forecast(model, wanted[counts], pilots.weights.mean(axis=0))

    def propose(self, state: Forecast, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return the mean of the best draws in the region (K,): a point of it, the same whenever the region is."""
        fit = (*state.model.key, state.goal.tobytes(), state.prior.tobytes())
        settings = (self.draws, self.best, self.kl, self.seed)
        return Proposal(planned(moment.region, partial(best_mean, state, self), ("regmix", *fit, *settings)))

    def update(self, state: Forecast, outcome: Outcome) -> Forecast:
        """Return what was fitted as it is."""
        return state


def best_mean(state: Forecast, settings: RegMix, region: Region) -> Vector:
    """Return the mean (K,) of the mixtures in the region whose foreseen loss is least."""
    rng = np.random.default_rng(settings.seed)
    mixtures = simulated(region, state.prior, settings.draws, rng)
    foreseen = state.model.predict(mixtures) @ state.goal
    if settings.kl:
        ratio = np.log(np.maximum(mixtures, 1e-12)) - np.log(np.maximum(state.prior, 1e-12))
        foreseen = foreseen + settings.kl * (mixtures * ratio).sum(axis=1)
    chosen = np.argsort(foreseen, kind="stable")[: settings.best]
    mean = mixtures[chosen].mean(axis=0)
    return np.where(region.upper > 0, mean, 0.0)


def simulated(region: Region, prior: Vector, count: int, rng: np.random.Generator) -> Vector:
    """Return mixtures in the region (count, K): half uniform on it, half Dirichlet around the prior and landed."""
    uniform = region.sample(rng, count - count // 2)
    low, high = (float(np.log(bound)) for bound in STRENGTHS)
    strength = np.exp(rng.uniform(low, high, count // 2))
    shape = np.maximum(prior, 1e-3 / len(prior)) * strength[:, None] * len(prior)
    gammas = rng.standard_gamma(shape) + 1e-300
    around = np.where(region.upper > 0, gammas, 0.0)
    around /= np.maximum(around.sum(axis=1, keepdims=True), 1e-300)
    return np.concatenate([uniform, region.project(around)])
