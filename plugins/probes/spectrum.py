"""The spectrum: how the eigenvalues of the loss's Hessian are distributed, by stochastic Lanczos quadrature."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Timetable, number
from andrea_plugins.probes.curved import Curved, valued

if TYPE_CHECKING:
    from andrea_core import ModelView, Objective


@attrs.frozen
class Spectrum(Curved):
    """Measure the density of the Hessian's eigenvalues as `density` (points,) on the grid `eigenvalue` (points,).

    Source: stochastic Lanczos quadrature (Ubaru, Chen, Saad 2017; for networks Ghorbani et al. 2019, arXiv 1901.10159).
    Each of `vectors` random sign vectors gives, after `steps` steps of re-orthogonalised Lanczos, a measure with its
    exact moments up to 2 steps - 1; their mean is smoothed by Gaussians of `width` times the range and integrates to 1.
    `mean` and `square` are tr H / n and |H|_F^2 / n with standard errors from the vectors; `low` and `high` are the
    extreme nodes, `negative` the share of negative eigenvalues beyond rounding (1e-4 of the largest magnitude). The
    text and the budget are those of `sharpness`. Statuses: `over_budget`, with what was done; `nonfinite`; `missing`
    without text. Cost: vectors x steps Hessian-vector products (`products`), memory of `steps` vectors of the
    model's size; so it looks at the end of a run only, where no time is named. For a figure take 4 vectors, 40 steps.
    """

    times: ClassVar[Timetable] = Timetable(at_end=True)
    measures: ClassVar[tuple[str, ...]] = (
        "low",
        "high",
        "negative",
        "mean",
        "mean_error",
        "square",
        "square_error",
        "products",
    )
    arrays: ClassVar[tuple[str, ...]] = ("eigenvalue", "density")

    vectors: int = number(default=2, at_least=1, at_most=1000)
    steps: int = number(default=10, at_least=1, at_most=1000)
    points: int = number(default=256, at_least=8, at_most=4096)
    width: float = number(default=0.01, at_least=1e-6, at_most=1)
    products: int = number(default=10_000, at_least=1)

    def measure(
        self, state: None, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], None]:
        """Measure `eigenvalue` and `density`, the first two moments with errors, and the extremes."""
        objective = self.objective(view)
        if objective is None:
            return {"mean": Measurement(float("nan"), "missing")}, None
        return self.spectrum(objective, rng), None

    def spectrum(self, objective: "Objective", rng: np.random.Generator) -> dict[str, Measurement]:
        """Return the measurements of an objective."""
        from andrea_core import Budget, lanczos_quadrature

        budget = Budget(self.products, self.seconds)
        found = lanczos_quadrature(
            objective.hessian(),
            objective.point(),
            vectors=self.vectors,
            steps=self.steps,
            budget=budget,
            rng=rng,
        )
        status = found.status
        low, high = (float(found.nodes.min()), float(found.nodes.max())) if found.nodes.size else (np.nan, np.nan)
        # A margin of five deviations holds all but a millionth of the smoothed density.
        size = max(abs(low), abs(high))
        width = self.width * ((high - low) or size or 1.0)
        grid = np.linspace(low - 5 * width, high + 5 * width, self.points)
        density = found.density(grid, width) if found.nodes.size else np.full(self.points, np.nan)
        measured = {
            "eigenvalue": Measurement(grid, status, axes=("point",)),
            "density": Measurement(density, status, axes=("point",)),
            "low": valued(low, status),
            "high": valued(high, status),
            "negative": valued(found.share(-np.inf, -1e-4 * size) if found.nodes.size else np.nan, status),
        }
        for name, power in (("mean", 1), ("square", 2)):
            value, error = found.moment(power) if found.nodes.size else (np.nan, np.nan)
            measured[name] = valued(value, status)
            measured[f"{name}_error"] = valued(error, status if len(found.counts) > 1 else "missing")
        return measured | {"products": Measurement(float(budget.spent))}
