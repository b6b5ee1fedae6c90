"""Mixing law: fits L_i = c_i + k_i exp(t_i . w) to past runs and proposes the minimiser in the region (2403.16952)."""

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
    ScenarioError,
    Sources,
    Vector,
    file_patterns,
    number,
    one_of,
    weights_by_source,
)
from andrea_plugins.policies.descent import divergence, minimiser
from andrea_plugins.policies.pilots import goal, read_pilots
from andrea_plugins.policies.planned import planned

WHO = "policy mixing_law"


@attrs.frozen(eq=False)
class Law:
    """The fitted laws of all sources' losses: L = floor + exp(slopes @ w); NaN where no loss was measured."""

    floor: Vector  # (K,) c
    slopes: Vector  # (K, K) t, a row a loss; k is in it, since the weights sum to 1
    goal: Vector  # (K,) how much each loss counts
    prior: Vector  # (K,) mean weights of the pilots

    def losses(self, weights: Vector) -> Vector:
        """Return the losses (K,) that are foreseen at weights (K,)."""
        return np.asarray(self.floor + np.exp(self.slopes @ weights))


@attrs.frozen
class MixingLaw:
    """Fit the data mixing law to past runs at the start, then propose the mixture that it calls best, in every phase.

    Source: Ye et al. 2024 (2403.16952), L_i(w) = c_i + k_i exp(sum_j t_ij w_j), fitted by least squares from many
    starts; the proposal minimises the sum of `target` times L over the region, plus `kl` times KL(w || mean pilot).
    `runs` are folders of past runs, `tables` CSV files with columns `weight.SOURCE` and `loss.SOURCE`. Of a run the
    final held-out loss counts (bits per byte) and its `weights`: "trained", its shares of the tokens, or "landed".
    An empty `target` counts all measured losses alike. At least K + 2 pilots are needed for K sources.
    Reward: none is read. Pull model: none; nothing is learnt from this run. Unseen sources: no difference.
    Departures: the laws over steps and sizes that the paper nests are left out: pilots should be as long as the run,
    or the optimum is that of their length. k_i is absorbed into t_i: as weights sum to 1, no prediction changes.
    """

    runs: tuple[str, ...] = file_patterns(default=())
    tables: tuple[str, ...] = file_patterns(default=())
    weights: str = one_of("trained", "landed", default="trained")
    target: Mapping[str, float] = weights_by_source(default=attrs.Factory(dict))
    kl: float = number(default=0.0, at_least=0)
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits(equivariant=False)

    def start(self, sources: Sources) -> Law:
        """Return the fitted law; raises ScenarioError for pilots that are missing, too few, or of other sources."""
        pilots = read_pilots(self.runs, self.tables, self.weights, sources, WHO)
        if len(pilots.weights) < len(sources) + 2:
            raise ScenarioError(
                f"{WHO}: {len(pilots.weights)} pilots cannot settle {len(sources) + 1} numbers a loss; "
                f"give at least {len(sources) + 2}"
            )
        wanted = goal(self.target, pilots, sources, WHO)
        floor = np.full(len(sources), np.nan)
        slopes = np.full((len(sources), len(sources)), np.nan)
        for k in np.flatnonzero(pilots.measured):
            floor[k], slopes[k] = fit(pilots.weights, pilots.losses[:, k])
        return Law(floor, slopes, wanted, pilots.weights.mean(axis=0))

    def propose(self, state: Law, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return the best mixture of the region (K,); the note `foreseen` holds the losses that it should lead to."""
        law = (state.floor.tobytes(), state.slopes.tobytes(), state.goal.tobytes(), state.prior.tobytes(), self.kl)
        weights = planned(moment.region, partial(best, state, kl=self.kl), ("mixing_law", *law))
        return Proposal(weights, notes={"foreseen": state.losses(weights)})

    def update(self, state: Law, outcome: Outcome) -> Law:
        """Return the law as it is."""
        return state


def best(law: Law, region: Region, kl: float = 0.0) -> Vector:
    """Return the weights (K,) in the region where the goal's sum of losses, plus kl KL(w || prior), is least."""
    counts = law.goal > 0
    slopes, share = law.slopes[counts], law.goal[counts]

    def value(weights: Vector) -> tuple[float, Vector]:
        parts = share * np.exp(slopes @ weights)
        far, pull = divergence(weights, law.prior) if kl else (0.0, np.zeros(len(weights)))
        return float(parts.sum()) + kl * far, slopes.T @ parts + kl * pull

    return minimiser(value, region, region.centre)


def fit(weights: Vector, losses: Vector) -> tuple[float, Vector]:
    """Return (c, t) of L = c + exp(t . w) for pilots (N, K) and losses (N,), by least squares from several starts.

    For a given c the log of L - c is linear in the weights: that starts each descent (Levenberg-Marquardt), from a
    ladder of c below the least loss; the best end counts.
    """
    from scipy.optimize import least_squares

    spread = max(float(np.ptp(losses)), 1e-9 * max(1.0, float(np.abs(losses).max())))
    low, size = float(losses.min()), len(losses)

    def residual(x: Vector) -> Vector:
        return np.asarray(x[0] + np.exp(np.minimum(weights @ x[1:], 700.0)) - losses)

    def jacobian(x: Vector) -> Vector:
        return np.column_stack([np.ones(size), np.exp(np.minimum(weights @ x[1:], 700.0))[:, None] * weights])

    starts = []
    for below in (0.01, 0.05, 0.2, 0.5, 1.0, 3.0, 10.0):
        c = low - below * spread
        starts.append(np.concatenate([[c], np.linalg.lstsq(weights, np.log(losses - c), rcond=None)[0]]))
    starts.sort(key=lambda x: float(residual(x) @ residual(x)))
    ends = [least_squares(residual, x, jacobian, method="trf", x_scale="jac", max_nfev=400) for x in starts[:3]]
    least = min(ends, key=lambda end: float(end.cost))
    return float(least.x[0]), np.asarray(least.x[1:])
