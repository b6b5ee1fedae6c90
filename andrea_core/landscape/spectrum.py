"""The density of a symmetric operator's eigenvalues by stochastic Lanczos quadrature.

Shape suffixes: m Lanczos steps, v start vectors, g points of a grid.
"""

import attrs
import numpy as np
from numpy.random import Generator
from torch import Tensor

from andrea_core.landscape.budget import NONFINITE, OK, OVER_BUDGET, Budget
from andrea_core.landscape.hessian import Operator
from andrea_core.landscape.lanczos import Lanczos
from andrea_core.landscape.trace import rademacher
from andrea_core.values import Vector


@attrs.frozen(eq=False)
class Spectrum:
    """A discrete measure that stands for the eigenvalues' density: `nodes` with `weights` that sum to 1, by vector.

    `counts` (v,) says how many nodes each start vector gave.
    """

    nodes: Vector
    weights: Vector
    counts: tuple[int, ...]
    status: str

    def moment(self, power: int) -> tuple[float, float]:
        """Return the mean of lambda^power, tr H^power / n, and its standard error over the start vectors."""
        ends = np.cumsum(self.counts)[:-1]
        terms = np.split(self.weights * self.nodes**power, ends)
        found = np.array([term.sum() for term in terms]) * len(self.counts)
        error = float(found.std(ddof=1)) / len(found) ** 0.5 if len(found) > 1 else float("nan")
        return float(found.mean()), error

    def quantiles(self, shares: Vector) -> Vector:
        """Return the least eigenvalues below which at least these shares of all eigenvalues lie."""
        order = np.argsort(self.nodes)
        total = np.cumsum(self.weights[order])
        places = np.searchsorted(total, np.asarray(shares) * total[-1] - 1e-12)
        return np.asarray(self.nodes[order][np.minimum(places, len(order) - 1)])

    def share(self, low: float, high: float) -> float:
        """Return the share of the eigenvalues in [low, high]."""
        return float(self.weights[(self.nodes >= low) & (self.nodes <= high)].sum())

    def density(self, grid: Vector, width: float) -> Vector:
        """Return the density (g,) smoothed by Gaussians of a standard deviation `width`; it integrates to 1."""
        with np.errstate(over="ignore"):  # so far out of a narrow Gaussian is nothing
            distance = (np.asarray(grid)[:, None] - self.nodes) / width
            distance = np.minimum(np.abs(distance), 1e3)
        return np.asarray(np.exp(-(distance**2) / 2) @ self.weights / (width * (2 * np.pi) ** 0.5))


def lanczos_quadrature(
    operator: Operator, like: Tensor, *, vectors: int, steps: int, budget: Budget, rng: Generator
) -> Spectrum:
    """Return the spectrum seen from random signs: Ritz values, weighted by the squared first entries of their vectors.

    Each start vector's measure has the operator's exact moments v' H^j v / n up to j = 2 m - 1 (Ubaru, Chen, Saad 2017;
    Ghorbani et al. 2019, 1901.10159), with Lanczos fully re-orthogonalised. A vector that the budget cuts short counts
    with the steps it got. `like` (n,) has the type and device of the operator's vectors.
    """
    found: list[tuple[Vector, Vector]] = []
    status = OK
    while len(found) < vectors and status == OK:
        process = Lanczos(operator, rademacher(like.numel(), rng).to(like), rng)
        status = _run(process, steps, budget)
        if process.steps:
            values, columns = process.ritz()
            found.append((values, columns[0] ** 2))
    nodes = np.concatenate([values for values, _ in found]) if found else np.empty(0)
    weights = np.concatenate([squares for _, squares in found]) / len(found) if found else np.empty(0)
    return Spectrum(nodes, weights, tuple(len(values) for values, _ in found), status)


def _run(process: Lanczos, steps: int, budget: Budget) -> str:
    # A restart from an invariant subspace would add nodes of no weight.
    while process.steps < steps and not process.complete and not process.closed:
        if not budget.take():
            return OVER_BUDGET
        process.extend()
        if not process.finite:
            return NONFINITE
    return OK
