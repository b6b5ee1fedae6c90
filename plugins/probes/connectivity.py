"""Connectivity: the barrier that is left from one look to the next when the way between them may bend.

Shape suffixes: n entries of all parameters together.
"""

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, Vector, number, positive
from andrea_plugins.probes.barrier import SIDES, line_losses, risen
from andrea_plugins.probes.curved import valued
from andrea_plugins.probes.perturbing import as_offset, flat_parameters, mixed_batches, side_windows

if TYPE_CHECKING:
    from andrea_core import Integers, ModelView, Objective


@attrs.frozen
class Connectivity:
    """Measure the barrier on a quadratic Bezier curve of low mean loss from the last look to this one.

    Source: Garipov et al. 2018 (arXiv 1802.10026): phi(t) = (1 - t)^2 theta_0 + 2 t (1 - t) c + t^2 theta_1, with c
    trained from the middle of the straight line to lower the mean of L(phi(t)) over t. Two minima with a ridge on the
    straight line between them may lie in one winding valley: then `barrier_*` is small where `straight_*`, the barrier
    of the line, is not. For each side `train` and `heldout`, at `points` even t: `barrier_*`, its `place_*` and the
    losses `line_*` (points,) as the probe `barrier` defines them, and `gain_*`, the mean loss of the line less that of
    the curve. `bend` is |c - (theta_0 + theta_1) / 2| / |theta_1 - theta_0|.

    c takes `steps` steps of Adam, each at a random t on its own `batch` tokens of training text, with a rate of `rate`
    times the root mean square of theta_1 - theta_0, which falls to 0 as a cosine. Read `heldout`: on text that comes
    again and again c is a model that learns it by heart. A barrier is an upper bound, lower with more `steps`. Where
    text and parameters are symmetric about the line the curve stays on it. Departures: Adam for their stochastic
    gradient descent, whose rate would have to be found for each model.

    The state keeps one copy of the parameters. Cost: `steps` gradients over `batch` tokens, and 4 `points` losses over
    `tokens` tokens. Statuses: `missing` at the first look or without text, `nonfinite`.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    measures: ClassVar[tuple[str, ...]] = (
        "bend",
        *(f"{name}_{side}" for side in SIDES for name in ("barrier", "place", "straight", "gain")),
    )
    arrays: ClassVar[tuple[str, ...]] = ("line_train", "line_heldout")

    points: int = number(default=11, at_least=3, at_most=1001)
    steps: int = number(default=40, at_least=1)
    rate: float = positive(default=0.1, at_most=10.0)
    batch: int = number(default=1024, at_least=1)
    tokens: int = number(default=1024, at_least=1)

    def start(self, sources: Sources) -> Vector:
        """Return the parameters of the last look: none yet."""
        return np.zeros(0)

    def measure(
        self, state: Vector, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], Vector]:
        """Bend the line on training text, and measure the barriers on both sides of the text."""
        theta = flat_parameters(view)
        batches = self._batches(view)
        if not batches or not len(state):
            return {"bend": Measurement(math.nan, "missing")}, theta
        chord = state - theta
        length = float(np.linalg.norm(chord))
        if not math.isfinite(length):
            return {"bend": Measurement(math.nan, "nonfinite")}, theta
        objectives = (view.objective(batch) for batch in itertools.cycle(batches))
        bend = self.bent(objectives, chord, rng)
        found = {"bend": valued(float(np.linalg.norm(bend)) / length if length else 0.0)}
        for side in SIDES:
            windows = side_windows(view, self.tokens, side)
            if windows:
                found |= self._barriers(view.objective(windows), chord, bend, side)
        return found, theta

    def bent(self, objectives: "Iterable[Objective]", chord: Vector, rng: np.random.Generator) -> Vector:
        """Return c less the straight line's middle (n,), after a step on each of the first `steps` objectives.

        All objectives stand at the curve's end; it begins a `chord` (n,) away from them.
        """
        import torch

        bend = torch.zeros(len(chord), dtype=torch.float64)
        optimizer = torch.optim.Adam([bend], lr=self.rate * max(float(np.sqrt(np.square(chord).mean())), 1e-30))
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.steps)
        for objective, t in zip(objectives, rng.random(self.steps), strict=False):
            slope = objective.gradient(as_offset(objective, place(chord, bend.numpy(), t)))
            bend.grad = 2 * t * (1 - t) * slope.to(bend)
            optimizer.step()
            schedule.step()
        return bend.numpy()

    def _batches(self, view: "ModelView") -> "list[list[Integers]]":
        rows = max(1, self.batch // view.shape.context)
        windows = side_windows(view, self.steps * rows * view.shape.context, "train")
        return list(mixed_batches(windows, rows))[: self.steps]

    def _barriers(self, objective: "Objective", chord: Vector, bend: Vector, side: str) -> dict[str, Measurement]:
        straight = line_losses(objective, chord, self.points)
        curve = [objective.loss(as_offset(objective, place(chord, bend, t))) for t in np.linspace(0, 1, self.points)]
        found = risen(np.array(curve)) | {
            "straight": risen(straight)["barrier"],
            "gain": valued(float(straight.mean() - np.mean(curve))),
        }
        return {f"{name}_{side}": one for name, one in found.items()}


def place(chord: Vector, bend: Vector, t: float) -> Vector:
    """Return phi(t) less theta_1: where a curve stands that begins a chord away and whose middle is moved by `bend`."""
    return (1 - t) * chord + 2 * t * (1 - t) * bend
