"""Critical sharpness: the curvature along the optimiser's own next step, for this stage's loss and the next one's."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, number, positive
from andrea_plugins.probes.curved import valued

if TYPE_CHECKING:
    from torch import Tensor

    from andrea_core import ModelView, Objective

SCALES = {"unbounded": 0.0, "undetermined": math.inf}  # the sharpness where the loss has no crossing


@attrs.frozen
class CriticalSharpness:
    """Measure 2 / eta_c, where eta_c is the learning rate at which the next step would leave the loss where it was.

    Source: arXiv 2601.16979. The step is what the run's optimiser would add for the gradient of the present stage's
    training text: momentum, preconditioner, clipping, weight decay and schedule are the run's. `critical` is for the
    same text's loss; below 2 / eta the step lowers it, and `ratio` = `critical` eta / 2 is then under 1. `next` is for
    the loss of the text of the stage that follows (the last stage's own, at the end), `heldout` for the held-out side:
    the relative sharpness of one loss along the step of another. `curvature` is u' H u / |u|^2 along the step u, exact.

    On a quadratic and a step along the gradient all of them are g' H g / |g|^2. Statuses: `unbounded`, the loss
    falls as far as `furthest` steps (the value is 0); `undetermined`, it rises from the start (infinite);
    `over_budget` after `forwards` losses; `missing` without text or an optimiser. Departures: the gradient is of the
    fixed text, not of the batch that comes next, so that a look touches no data and a stored checkpoint gives the same;
    bisection is replaced by false position on (L(s) - L(0)) / s, exact on a quadratic. Cost: about 6 losses each, one
    gradient, one product.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    measures: ClassVar[tuple[str, ...]] = ("critical", "ratio", "next", "heldout", "curvature", "products")

    tolerance: float = positive(default=1e-2, at_most=0.5)
    furthest: float = number(default=2.0**20, above=1, at_most=2.0**60)
    forwards: int = number(default=40, at_least=1)
    tokens: int = number(default=1024, at_least=1)

    def start(self, sources: Sources) -> None:
        """There is nothing to remember."""

    def measure(
        self, state: None, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], None]:
        """Measure `critical`, `ratio`, `next`, `heldout`, `curvature`, and the number of products."""
        stage = view.stage or next(iter(view.stages), "")
        own = self._objective(view, stage, "train")
        step = None if own is None else step_of(view, own)
        if own is None or step is None:
            names = ("critical", "ratio", "next", "heldout", "curvature")
            nothing = {name: Measurement(float("nan"), "missing") for name in names}
            return nothing | {"products": Measurement(0.0)}, None
        rate = view.learning_rate
        follows = after(stage, view.stages)
        critical = self.critical(own, step, rate)
        square = float(step.double() @ step.double())
        curvature = float(step.double() @ own.hessian()(step).double()) / square if square else math.nan
        return {
            "critical": critical,
            "ratio": Measurement(float(critical.value) * rate / 2, critical.status),
            "next": self.critical(self._objective(view, follows, "train"), step, rate),
            "heldout": self.critical(self._objective(view, stage, "heldout"), step, rate),
            "curvature": valued(curvature),
            "products": Measurement(1.0 if square else 0.0),
        }, None

    def critical(self, objective: "Objective | None", step: "Tensor", rate: float) -> Measurement:
        """Return 2 / eta_c of an objective along a step (n,) that was made with a learning rate."""
        from andrea_core import Budget, crossing

        if objective is None:
            return Measurement(math.nan, "missing")
        found = crossing(
            lambda scale: objective.loss(scale * step),
            tolerance=self.tolerance,
            furthest=self.furthest,
            budget=Budget(self.forwards),
        )
        return Measurement(
            SCALES.get(found.status, 2 / (found.scale * rate) if found.scale else math.inf), found.status
        )

    def _objective(self, view: "ModelView", stage: str, side: str) -> "Objective | None":
        windows = view.stage_windows(stage, self.tokens, "heldout" if side == "heldout" else "train")
        return view.objective(windows) if windows else None


def after(stage: str, stages: tuple[str, ...]) -> str:
    """Return the stage that follows; the last one, or one that is not planned, is followed by itself."""
    place = stages.index(stage) + 1 if stage in stages else len(stages)
    return stages[place] if place < len(stages) else stage


def step_of(view: "ModelView", objective: "Objective") -> "Tensor | None":
    """Return the optimiser's next step (n,) for an objective's gradient; None when only a model is looked at."""
    pieces = objective.split(objective.gradient())
    update = view.next_update(dict(zip(objective.names, pieces, strict=True)))
    return None if update is None else objective.flat([update[name] for name in objective.names])
