"""The trace of the loss's Hessian, whole and by part of the model, with standard errors."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs
import numpy as np

from andrea_core import Measurement, number, one_of
from andrea_plugins.probes.curved import Curved, valued

if TYPE_CHECKING:
    from andrea_core import Estimate, ModelView, Objective

PARTS = ("tokens*", "positions*", "blocks_*", "norm*", "head*")


@attrs.frozen
class Trace(Curved):
    """Measure tr H, the sum of the Hessian's eigenvalues, from `draws` random vectors, and its standard error.

    Source: Hutchinson 1990, tr H = E z' H z for random signs z, with variance 2 (|H|_F^2 - sum of H_ii^2) / draws. The
    same products give the trace of each part of the model, `tokens`, `blocks_0_attention` and so on, with errors of
    their own (`_error`); parts differ by orders of magnitude (Zhang et al. 2024, arXiv 2402.16788). `method =
    "hutch++"` (Meyer et al. 2021, arXiv 2010.09649) needs fewer draws where few eigenvalues matter, and gives no parts;
    its error is that of its random third. The text and the budget are those of `sharpness`. Statuses: `over_budget`,
    with fewer draws; `nonfinite`; `missing` without text. Cost: `draws` Hessian-vector products, counted in `products`.
    """

    draws: int = number(default=6, at_least=2, at_most=10_000)
    method: str = one_of("hutchinson", "hutch++", default="hutchinson")
    products: int = number(default=10_000, at_least=1)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of what is one number."""
        always = ("loss", "trace", "trace_error", "products")
        return (*always, *PARTS) if self.method == "hutchinson" else always

    def measure(
        self, state: None, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], None]:
        """Measure `trace`, `trace_error`, `loss`, and with Hutchinson's method each part and its error."""
        objective = self.objective(view)
        if objective is None:
            return {"loss": Measurement(float("nan"), "missing")}, None
        return self.trace(objective, rng), None

    def trace(self, objective: "Objective", rng: np.random.Generator) -> dict[str, Measurement]:
        """Return the measurements of an objective."""
        from andrea_core import Budget, block_of, block_rows, hutch_plus_plus, hutchinson

        budget, like, hessian = Budget(self.products, self.seconds), objective.point(), objective.hessian()
        found = {"loss": valued(objective.loss())}
        if self.method == "hutch++":
            found |= _both("trace", hutch_plus_plus(hessian, like, self.draws, budget, rng))
            return found | {"products": Measurement(float(budget.spent))}
        blocks = block_rows(objective.slices(), {name: block_of(name) for name in objective.names})
        total, parts = hutchinson(hessian, like, blocks, self.draws, budget, rng)
        found |= _both("trace", total)
        for name, part in parts.items():
            found |= _both(name, part)
        return found | {"products": Measurement(float(budget.spent))}


def _both(name: str, estimate: "Estimate") -> dict[str, Measurement]:
    few = estimate.status if estimate.samples > 1 or estimate.status != "ok" else "missing"
    return {name: valued(estimate.value, estimate.status), f"{name}_error": valued(estimate.error, few)}
