"""Adam's sharpness: the largest eigenvalue of the preconditioned Hessian, against the edge of Adam's stability."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Timetable, number, positive
from andrea_plugins.probes.curved import Curved, eigen_status, padded, valued

if TYPE_CHECKING:
    from torch import Tensor

    from andrea_core import ModelView, Objective


@attrs.frozen
class AdamSharpness(Curved):
    """Measure lambda_1 of P^(-1/2) H P^(-1/2), and its ratio to (2 + 2 beta1) / ((1 - beta1) eta).

    Source: Cohen et al. 2022 (arXiv 2207.14484). P = (1 - beta1^t) (sqrt(v / (1 - beta2^t)) + eps) is what an AdamW
    step divides its first moment m by, read from the run's optimiser. Gradient descent with this preconditioner and an
    average of gradients is stable below the threshold, 38 / eta at beta1 = 0.9: full-batch Adam hovers at a `ratio` of
    1, and warm-up keeps the first steps below it. `largest` is the eigenvalue; `residual`, the text, the budget and the
    statuses are those of `sharpness`. Also `missing` before the first step, and `unsupported` where a parameter is not
    Adam's. Departures: weight decay is left out of the threshold. Cost: 8 to 15 products a look, since its spectrum is
    less spread than that of H: without a time of its own it looks at the end of a run only.
    """

    times: ClassVar[Timetable] = Timetable(at_end=True)
    measures: ClassVar[tuple[str, ...]] = ("largest", "ratio", "residual", "products")

    tolerance: float = positive(default=2e-3, at_most=0.5)
    products: int = number(default=60, at_least=1)

    def measure(
        self, state: None, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], None]:
        """Measure `largest`, `ratio`, `residual` and the number of products."""
        objective = self.objective(view)
        if objective is None or view.optimizer is None or not view.moments():
            return _none("missing"), None
        diagonal = view.preconditioner(objective.names)
        if diagonal is None:
            return _none("unsupported"), None
        return self.sharpness(objective, diagonal, view.learning_rate, view.optimizer.beta1, rng), None

    def sharpness(
        self, objective: "Objective", diagonal: "Tensor", rate: float, beta1: float, rng: np.random.Generator
    ) -> dict[str, Measurement]:
        """Return the measurements of an objective with the preconditioner's diagonal (n,)."""
        from andrea_core import Budget, extreme_eigenpairs, standard_normal

        point, hessian = objective.point(), objective.hessian()
        root, budget = diagonal.to(point).rsqrt(), Budget(self.products, self.seconds)
        found = extreme_eigenpairs(
            lambda vector: root * hessian(root * vector),
            standard_normal(objective.size, rng).to(point),
            largest=1,
            smallest=False,
            tolerance=self.tolerance,
            budget=budget,
            rng=rng,
        )
        status, value = eigen_status(found, objective.dtype.itemsize), float(padded(found.values, 1)[0])
        return {
            "largest": valued(value, status),
            "ratio": valued(value * rate * (1 - beta1) / (2 + 2 * beta1), status),
            "residual": valued(float(padded(found.residuals, 1)[0] / abs(value)) if value else 0.0, status),
            "products": Measurement(float(budget.spent)),
        }


def _none(status: str) -> dict[str, Measurement]:
    nothing = {name: Measurement(float("nan"), status) for name in ("largest", "ratio", "residual")}
    return {**nothing, "products": Measurement(0.0)}
