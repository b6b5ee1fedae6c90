"""Basin width: how far the parameters may move at random before the loss has risen by a tolerance."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, Vector, number, one_of, positive
from andrea_plugins.probes.curved import valued
from andrea_plugins.probes.perturbing import antithetic_rises, seeds, side_windows

if TYPE_CHECKING:
    from torch import Tensor

    from andrea_core import Estimate, ModelView, Objective

FIRST, FACTOR = 0.01, 4.0  # the first width tried, and from one to the next until the tolerance is bracketed
LEAST, MOST = 1e-9, 1e6  # widths beyond which none is looked for


@attrs.frozen
class Width:
    """A width sigma*, its standard error from the draws, the losses it took, and how far to trust it."""

    value: float
    error: float
    losses: int
    status: str


@attrs.frozen
class BasinWidth:
    """Measure sigma*(tau) = max sigma with E[L(theta + sigma u * c)] - L(theta) <= tau, u standard normal.

    Source: the PAC-Bayes measure of Jiang et al. 2019 (arXiv 1912.02178), there as 1 / sigma and in training error;
    here it is in nats a token. `c` is 1 for `width`; with `scaled` also |theta|, for `width_scaled`;
    tau is `tolerance` nats, and for names with `_relative` it is `relative` times the loss. The mean is over `draws`
    normal vectors, the same for every
    sigma and each taken with both signs; sigma is bracketed by factors of 4, halved `rounds` times in log sigma, then
    interpolated as a power of sigma, which is exact on a quadratic. `_error` is the standard error from the draws.

    `wall` = sqrt(2 tau / tr H) / sigma* compares with the width that the curvature at the centre (`trace`, by `trace`
    Rademacher products, Hutchinson 1990) predicts: 1 in a quadratic well, above 1 where walls rise faster. Always read
    them beside `loss`, on both sides of the text: a memorised text has a low loss and looks flat at its centre.

    Statuses: `unbounded`, the loss never rises by tau; `not_converged`, no width is small enough; `nonfinite`;
    `over_budget`, `losses` were spent; for `wall` also `flat_floor` (trace 0) and `missing` (negative trace); for all,
    `missing` when no source has text on the `side`. Cost: at most `losses` forward passes over `tokens` tokens for the
    two tolerances together, about 2 draws (2 rounds + 3), and `trace` Hessian-vector products (`products`); both twice
    with `scaled`. The defaults are for looks inside a run; more draws, rounds and products narrow the errors.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    tolerance: float = positive(default=0.1)
    relative: float = positive(default=0.1)
    scaled: bool = False
    draws: int = number(default=4, at_least=1, at_most=1024)
    rounds: int = number(default=1, at_least=0, at_most=40)
    trace: int = number(default=4, at_least=0, at_most=10_000)
    losses: int = number(default=400, at_least=1)
    tokens: int = number(default=1024, at_least=1)
    side: str = one_of("train", "heldout", default="train")

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of what is one number."""
        scales = ("", "_scaled") if self.scaled else ("",)
        widths = [f"width{scale}{kind}" for scale in scales for kind in ("", "_relative")]
        traces = [f"trace{scale}" for scale in scales] if self.trace else []
        walls = [name.replace("width", "wall") for name in widths] if self.trace else []
        return ("loss", "products", *walls, *(f"{name}{end}" for name in (*widths, *traces) for end in ("", "_error")))

    def start(self, sources: Sources) -> None:
        """There is nothing to remember."""

    def measure(
        self, state: None, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], None]:
        """Measure the widths, their errors, traces and wall ratios, and the loss."""
        windows = side_windows(view, self.tokens, self.side)
        if not windows:
            return {"loss": Measurement(math.nan, "missing")}, None
        return self.widths(view.objective(windows), rng), None

    def widths(self, objective: "Objective", rng: np.random.Generator) -> dict[str, Measurement]:
        """Return the measurements of an objective."""
        loss, drawn, before = objective.loss(), seeds(rng, self.draws), objective.cost.products
        found = {"loss": Measurement(loss, "ok" if math.isfinite(loss) else "nonfinite")}
        scales = (("", None), ("_scaled", objective.point().abs())) if self.scaled else (("", None),)
        for name, scale in scales:
            rises = Rises(objective, loss, drawn, scale, self.losses - 1)
            trace = scaled_trace(objective, self.trace, scale, rng) if self.trace else None
            if trace is not None:
                found[f"trace{name}"] = valued(trace.value, trace.status)
                found[f"trace{name}_error"] = valued(trace.error, trace.status if trace.samples > 1 else "missing")
            for kind, tolerance in (("", self.tolerance), ("_relative", self.relative * loss)):
                width = width_within(rises, tolerance, self.rounds)
                found[f"width{name}{kind}"] = Measurement(width.value, width.status)
                unknown = width.status == "ok" and not math.isfinite(width.error)
                found[f"width{name}{kind}_error"] = Measurement(width.error, "missing" if unknown else width.status)
                if trace is not None:
                    found[f"wall{name}{kind}"] = wall_ratio(width, tolerance, trace.value)
        return found | {"products": Measurement(float(objective.cost.products - before))}


def basin_width(
    objective: "Objective",
    tolerance: float,
    drawn: list[int],
    rounds: int,
    most_losses: int,
    scale: "Tensor | None" = None,
) -> Width:
    """Return the largest sigma at which the mean rise over the seeds `drawn` stays within the tolerance, in nats."""
    return width_within(Rises(objective, objective.loss(), drawn, scale, most_losses - 1), tolerance, rounds)


def width_within(rises: "Rises", tolerance: float, rounds: int) -> Width:
    """Return the same from rises of which some may be known already."""
    if not (math.isfinite(rises.loss) and tolerance > 0):
        return Width(math.nan, math.nan, 1, "not_converged" if math.isfinite(rises.loss) else "nonfinite")
    low, high = bracket(rises, tolerance)
    if low == 0 or high == math.inf:
        status = "unbounded" if high == math.inf else "not_converged"
        return Width(math.nan, math.nan, rises.spent, status if rises.affordable else "over_budget")
    status = "ok"
    for _ in range(rounds):
        if not rises.affordable:
            status = "over_budget"
            break
        middle = math.sqrt(low * high)
        low, high = (middle, high) if rises.at(middle).mean() <= tolerance else (low, middle)
    return Width(*interpolated(rises, low, high, tolerance), rises.spent, status)


@attrs.define(eq=False)
class Rises:
    """The rises of a loss at tried sizes of perturbation, and how many losses are left to spend."""

    objective: "Objective"
    loss: float
    drawn: list[int]
    scale: "Tensor | None"
    left: int
    spent: int = 1
    tried: dict[float, Vector] = attrs.field(factory=dict)

    @property
    def affordable(self) -> bool:
        """Whether one more size may be tried."""
        return self.left >= 2 * len(self.drawn)

    def at(self, sigma: float) -> Vector:
        """Return the rise for each seed."""
        if sigma not in self.tried:
            self.left, self.spent = self.left - 2 * len(self.drawn), self.spent + 2 * len(self.drawn)
            self.tried[sigma] = antithetic_rises(self.objective, self.loss, self.drawn, sigma, self.scale)
        return self.tried[sigma]


def bracket(rises: Rises, tolerance: float) -> tuple[float, float]:
    """Return a size within the tolerance and one beyond it, a factor apart; 0 or infinity for one not found."""
    sigma, low, high = FIRST, 0.0, math.inf
    while (low == 0 or high == math.inf) and LEAST < sigma < MOST and rises.affordable:
        if rises.at(sigma).mean() <= tolerance:
            low, sigma = sigma, sigma * FACTOR
        else:
            high, sigma = sigma, sigma / FACTOR
    return low, high


def interpolated(rises: Rises, low: float, high: float, tolerance: float) -> tuple[float, float]:
    """Return where a power law through two sizes meets the tolerance, and its standard error from the draws."""
    below, above = float(rises.at(low).mean()), float(rises.at(high).mean())
    if below > 0 and math.isfinite(above):
        power = math.log(above / below) / math.log(high / low)
        width = low * (tolerance / below) ** (1 / power)
    else:
        power, width = 2.0, low
    if len(rises.drawn) < 2 or below <= 0:
        return width, math.nan
    spread = float(rises.at(low).std(ddof=1)) / math.sqrt(len(rises.drawn)) / below
    return width, width * spread / power


def scaled_trace(objective: "Objective", draws: int, scale: "Tensor | None", rng: np.random.Generator) -> "Estimate":
    """Return tr(diag(c) H diag(c)), c = `scale` or 1, by Hutchinson's estimator with its standard error."""
    from andrea_core import Budget, hutchinson

    hessian = objective.hessian()
    operator = hessian if scale is None else lambda vector: scale * hessian(scale * vector)
    return hutchinson(operator, objective.point(), {}, draws, Budget(), rng)[0]


def wall_ratio(width: Width, tolerance: float, trace: float) -> Measurement:
    """Return sqrt(2 tau / tr H) / sigma*: the width of a quadratic well of this trace over the one that was found."""
    if width.status not in ("ok", "over_budget") or not math.isfinite(trace):
        return Measurement(math.nan, width.status if width.status != "ok" else "nonfinite")
    if trace == 0:
        return Measurement(math.inf, "flat_floor")
    if trace < 0:
        return Measurement(math.nan, "missing")
    return Measurement(math.sqrt(2 * tolerance / trace) / width.value, width.status)
