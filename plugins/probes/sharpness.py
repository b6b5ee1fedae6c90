"""Sharpness: the largest and the smallest eigenvalues of the loss's Hessian, against what the learning rate bears."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, number, positive
from andrea_plugins.probes.curved import Curved, eigen_status, padded, valued

if TYPE_CHECKING:
    from andrea_core import ModelView, Objective


@attrs.frozen
class Sharpness(Curved):
    """Measure lambda_1 .. lambda_k and lambda_min of H, the Hessian of the mean loss, and lambda_1 eta / 2.

    Source: Cohen et al. 2021 (arXiv 2103.00065): full-batch gradient descent with the rate eta hovers where lambda_1 =
    2 / eta, a `ratio` of 1. Both ends of the spectrum come from one Lanczos run (re-orthogonalised, started from a
    random vector) that ends when all `k` largest, and with `smallest` the smallest, have residuals within `tolerance`
    of the largest magnitude. `residual` is |H v - lambda v| / lambda of the largest. An eigenvalue that
    occurs twice is found once.

    The text is fixed: at most `tokens` tokens of all sources, or of the present stage's with `text = "stage"`. Never
    compare two values without `loss`, and look at both sides of the text: a memorised text has a low loss and looks
    flat. Statuses: `over_budget` when `products` Hessian-vector products (or `seconds`, which make results depend on
    the machine) were spent, with the best values known; `asymmetric` when the second derivative is wrong; `nonfinite`;
    `missing` without text. Departures: the start vector is random at each look, not the last eigenvector, which would
    put a vector of the model's size into every checkpoint.
    An eigenvalue's error is at most its residual, and goes with
    the residual's square where the next eigenvalue is far: 1e-2 is about 1e-4 in the value.
    Cost: about 12 products for lambda_1, each 2 to 3 gradients.
    """

    arrays: ClassVar[tuple[str, ...]] = ("eigenvalues",)

    k: int = number(default=1, at_least=1, at_most=256)
    smallest: bool = True
    tolerance: float = positive(default=1e-2, at_most=0.5)
    products: int = number(default=60, at_least=1)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of what is one number."""
        always = ("loss", "largest", "ratio", "residual", "asymmetry", "products")
        return (*always, "smallest") if self.smallest else always

    def measure(
        self, state: None, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], None]:
        """Measure `largest` and `smallest`, all `eigenvalues` (k,), `ratio`, `residual`, and the loss."""
        objective = self.objective(view)
        if objective is None:
            return {"loss": Measurement(float("nan"), "missing")}, None
        return self.sharpness(objective, view.learning_rate, rng), None

    def sharpness(self, objective: "Objective", rate: float, rng: np.random.Generator) -> dict[str, Measurement]:
        """Return the measurements of an objective."""
        from andrea_core import Budget, extreme_eigenpairs, standard_normal

        start, budget = standard_normal(objective.size, rng).to(objective.point()), Budget(self.products, self.seconds)
        found = extreme_eigenpairs(
            objective.hessian(),
            start,
            largest=self.k,
            smallest=self.smallest,
            tolerance=self.tolerance,
            budget=budget,
            rng=rng,
        )
        status = eigen_status(found, objective.dtype.itemsize)
        values = padded(found.values[: self.k], self.k)
        measured = {
            "loss": valued(objective.loss()),
            "largest": valued(float(values[0]), status),
            "ratio": valued(float(values[0]) * rate / 2, status if rate == rate else "missing"),
            "residual": valued(float(padded(found.residuals, 1)[0] / abs(values[0])) if values[0] else 0.0, status),
            "asymmetry": valued(found.asymmetry, status),
            "products": Measurement(float(budget.spent)),
        }
        if self.k > 1:
            measured["eigenvalues"] = Measurement(values, status, axes=("rank",))
        if self.smallest:
            # With as many pairs as rows the smallest is the last of the largest.
            measured["smallest"] = valued(float(found.values[-1]) if found.values.size else float("nan"), status)
        return measured
