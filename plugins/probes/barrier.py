"""The barrier between checkpoints: how far the loss rises on the straight line from one look to the next."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, Vector, number
from andrea_plugins.probes.perturbing import as_offset, flat_parameters, side_windows

if TYPE_CHECKING:
    from andrea_core import ModelView, Objective

SIDES = ("train", "heldout")


@attrs.frozen
class Barrier:
    """Measure max over a of L((1 - a) theta_0 + a theta_1) - ((1 - a) L_0 + a L_1) between the last look and this one.

    Source: Frankle et al. 2020 (arXiv 1912.05671), here against the straight line between the ends, so that it is 0 for
    one point, never positive on a quadratic well, and large where a ridge lies between two basins. Looking at stage
    borders, it says whether a change of stage has left the basin. For each side `train` and `heldout`: `barrier_*`,
    `line_*`, the losses (points,) from the last look (a = 0) to this one (a = 1), and `place_*`, the a of the maximum.
    The maximum is over the ends as well, so that no barrier is below 0.

    The state keeps one copy of the parameters. Cost: `points` losses a side over `tokens` tokens. Statuses: `missing`
    at the first look or without text, `nonfinite` where the line leaves the numbers.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    measures: ClassVar[tuple[str, ...]] = ("barrier_train", "place_train", "barrier_heldout", "place_heldout")
    arrays: ClassVar[tuple[str, ...]] = ("line_train", "line_heldout")

    points: int = number(default=21, at_least=3, at_most=1001)
    tokens: int = number(default=1024, at_least=1)

    def start(self, sources: Sources) -> Vector:
        """Return the parameters of the last look: none yet."""
        return np.zeros(0)

    def measure(
        self, state: Vector, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], Vector]:
        """Measure the barrier on both sides of the text."""
        theta, found = flat_parameters(view), dict[str, Measurement]()
        for side in SIDES:
            windows = side_windows(view, self.tokens, side)
            if windows and len(state):
                losses = line_losses(view.objective(windows), state - theta, self.points)
                found |= {f"{name}_{side}": one for name, one in risen(losses).items()}
            else:
                found[f"barrier_{side}"] = Measurement(math.nan, "missing")
        return found, theta


def line_losses(objective: "Objective", offset_n: Vector, points: int) -> Vector:
    """Return the losses (points,) on the line from theta + offset to theta, evenly spaced, both ends included."""
    direction = as_offset(objective, offset_n)
    places = np.linspace(1, 0, points)
    return np.array([objective.loss(direction * float(place) if place else None) for place in places])


def risen(losses: Vector) -> dict[str, Measurement]:
    """Return the barrier of losses on a line, its place, and the losses."""
    places = np.linspace(0, 1, len(losses))
    rises = losses - ((1 - places) * losses[0] + places * losses[-1])
    if not np.isfinite(rises).all():
        return {
            "barrier": Measurement(math.nan, "nonfinite"),
            "place": Measurement(math.nan, "nonfinite"),
            "line": Measurement(losses, "nonfinite", ("place",)),
        }
    rises[[0, -1]] = 0.0  # exactly, whatever the rounding
    highest = int(rises.argmax())
    return {
        "barrier": Measurement(float(rises[highest])),
        "place": Measurement(float(places[highest])),
        "line": Measurement(losses, axes=("place",)),
    }
