"""Sharpness by perturbation: how far the loss rises for a step of SAM, on average, and in the worst case."""

import math
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, number, one_of, positive
from andrea_plugins.probes.ascent import worst_rise
from andrea_plugins.probes.perturbing import antithetic_rises, mixed_batches, seeds, side_windows

if TYPE_CHECKING:
    from torch import Tensor

    from andrea_core import ModelView, Objective

FURTHEST = 1e6  # a radius beyond it is no perturbation of any model
MOVED = 0.05  # of the worst rise: a last gain beyond it says that the ascent had not ended


@attrs.frozen
class PerturbationSharpness:
    """Measure the rise of the loss under perturbations of the parameters, standard and adaptive (`_adaptive`).

    `sam` = L(theta + rho c^2 g / |c g|) - L(theta): Foret et al. 2020 (arXiv 2010.01412) with c = 1, and ASAM, Kwon et
    al. 2021 (arXiv 2102.11600), with c = |theta|. The others are those of Andriushchenko et al. 2023 (arXiv
    2302.07011): `average` = E[L(theta + d)] - L(theta), d ~ N(0, noise^2 diag c^2), over `draws` vectors with both
    signs, and `average_error`, its standard error; `worst` and `worst_box` = max L(theta + c z) - L(theta) over
    |z|_2 <= rho and |z|_inf <= box, by `ascent` steps of projected gradient ascent. Each is the mean over at most
    `batches` batches of `rows` windows that mix all sources ("m-sharpness"). For small radii they tend to rho |c g|,
    (noise^2 / 2) tr(CHC), and rho |c g|_2 and box |c g|_1 (or, where g = 0, (rho^2 / 2) lambda_max). Parameters that
    are 0 stay 0 when adaptive.

    Across transformers these often do not go with generalisation, and mostly follow the learning rate: the paper's
    finding. Read them beside `loss`. Statuses: `not_converged` where the last step of the ascent still raised the best
    by more than 5 %; `nonfinite`; `missing` without text. Cost a batch and kind: 1 gradient and 1 loss for
    `sam`; 2 draws losses; ascent gradients and losses, twice. `ascent` 0 leaves the worst cases out.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    rho: float = positive(default=0.05, at_most=FURTHEST)
    rho_adaptive: float = positive(default=0.5, at_most=FURTHEST)
    noise: float = positive(default=0.005, at_most=FURTHEST)
    noise_adaptive: float = positive(default=0.05, at_most=FURTHEST)
    box: float = positive(default=0.0005, at_most=FURTHEST)
    box_adaptive: float = positive(default=0.005, at_most=FURTHEST)
    draws: int = number(default=4, at_least=1, at_most=1024)
    ascent: int = number(default=5, at_least=0, at_most=1000)
    batches: int = number(default=1, at_least=1)
    rows: int = number(default=8, at_least=1)
    side: str = one_of("train", "heldout", default="train")

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of what is one number."""
        kinds = ("sam", "average", *(("worst", "worst_box") if self.ascent else ()))
        both = [f"{kind}{adaptive}" for kind in kinds for adaptive in ("", "_adaptive")]
        return ("loss", "average_error", "average_adaptive_error", *both)

    def start(self, sources: Sources) -> None:
        """There is nothing to remember."""

    def measure(
        self, state: None, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], None]:
        """Measure all of them, and the loss."""
        windows = side_windows(view, self.rows * self.batches * view.shape.context, self.side)
        batches = list(islice(mixed_batches(windows, self.rows), self.batches))
        if not batches:
            return {"loss": Measurement(math.nan, "missing")}, None
        found = [self.rises(view.objective(batch), rng) for batch in batches]
        return {name: _joined(name, [one[name] for one in found]) for name in found[0]}, None

    def rises(self, objective: "Objective", rng: np.random.Generator) -> dict[str, Measurement]:
        """Return the measurements on one batch."""
        found = {"loss": _finite(objective.loss())}
        kinds = (
            ("", objective.point() * 0 + 1, self.rho, self.noise, self.box),
            ("_adaptive", objective.point().abs(), self.rho_adaptive, self.noise_adaptive, self.box_adaptive),
        )
        for name, scale, rho, noise, box in kinds:
            found[f"sam{name}"] = _finite(sam_rise(objective, scale, rho))
            spread = antithetic_rises(objective, objective.loss(), seeds(rng, self.draws), noise, scale)
            found[f"average{name}"] = _finite(float(spread.mean()))
            known = self.draws > 1 and bool(np.isfinite(spread).all())
            error = float(spread.std(ddof=1)) / math.sqrt(self.draws) if known else math.nan
            found[f"average{name}_error"] = Measurement(error, "ok" if math.isfinite(error) else "missing")
            for kind, radius, norm in (("", rho, 2.0), ("_box", box, math.inf)):
                if self.ascent:
                    rise, gain = worst_rise(objective, scale, radius, norm, self.ascent, seeds(rng, 1)[0])
                    found[f"worst{kind}{name}"] = _finite(rise, "not_converged" if gain > MOVED * abs(rise) else "ok")
        return found


def sam_rise(objective: "Objective", scale_n: "Tensor", rho: float) -> float:
    """Return L(theta + rho c^2 g / |c g|) - L(theta); 0 where there is no slope."""
    slope_n = scale_n * objective.gradient()
    length = float(slope_n.norm())
    return objective.loss(scale_n * slope_n * (rho / length)) - objective.loss() if length else 0.0


def _finite(value: float, status: str = "ok") -> Measurement:
    return Measurement(value, status if math.isfinite(value) else "nonfinite")


def _joined(name: str, found: list[Measurement]) -> Measurement:
    """Return the batches' mean; of standard errors of independent means that of their mean."""
    values = [float(one.value) for one in found if not isinstance(one.value, str)]
    joined = math.hypot(*values) / len(values) if name.endswith("_error") else float(np.mean(values))
    return Measurement(joined, next((one.status for one in found if one.status != "ok"), "ok"))
