"""Path geometry: how far the parameters have moved, how straight, and whether steps keep their direction."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, Vector, number
from andrea_plugins.probes.path_geometry import cosine, length, sketch
from andrea_plugins.probes.perturbing import flat_parameters, side_windows

if TYPE_CHECKING:
    from andrea_core import ModelView

MOVES = ("move", "move_a_step", "relative_move", "length", "displacement", "straightness", "turning")


@attrs.frozen(eq=False)
class Walked:
    """Where a path began, where it is, and its last move, each (n,) or a sketch (m,); empty before there is one."""

    begin: Vector
    now: Vector
    move: Vector
    length: float
    looks: int
    step: int


@attrs.frozen
class Path:
    """Follow the parameters from look to look; a move u is the difference to the look before.

    `move` = |u|, `move_a_step` = |u| over the steps since, `length` P = sum |u|, `displacement` D = |theta - theta_0|,
    `straightness` D / P (1 on a line, about 1 / sqrt(T) for T random moves, 0 on a closed curve), `turning` = cosine of
    u and the move before (-1 when bouncing), `relative_move` = |u| / |theta|, `norm` = |theta|, and, with `tokens` > 0,
    `descent` = cosine of u and -g, g the gradient on the training text at the point reached. `sketch` (m,) is a random
    projection of theta that keeps distances (Johnson, Lindenstrauss 1984; here a count sketch, Charikar et al. 2002),
    for a principal component analysis of the path. Path quantities as in Cohen et al. 2021 (arXiv 2103.00065) and
    Fort, Jastrzebski 2019; theta_0 is the point of the first look.

    With `every` = 1 the path is that of the optimiser; looks further apart cut corners: P is then a lower bound. Up to
    `exact` parameters the state keeps three vectors, and all is exact; above, it keeps sketches, and lengths have a
    relative error of about 1 / sqrt(2 m). `exactly` is 1 or 0 accordingly. Cost: O(n), no pass of the model; with
    `tokens`, one gradient. `missing` marks what needs an earlier look.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    arrays: ClassVar[tuple[str, ...]] = ("sketch",)

    sketch: int = number(default=256, at_least=1, at_most=2**16)
    exact: int = number(default=20_000_000, at_least=0)
    tokens: int = number(default=0, at_least=0)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of what is one number."""
        return ("norm", "exactly", *MOVES, *(("descent",) if self.tokens else ()))

    def start(self, sources: Sources) -> Walked:
        """Return a path without points."""
        return Walked(np.zeros(0), np.zeros(0), np.zeros(0), 0.0, 0, 0)

    def measure(
        self, state: Walked, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], Walked]:
        """Measure the path so far."""
        theta = flat_parameters(view)
        slope = self._slope(view)
        return self.follow(state, theta, view.step, slope)

    def follow(
        self, state: Walked, theta_n: Vector, step: int, slope_n: Vector | None = None
    ) -> tuple[dict[str, Measurement], Walked]:
        """Return the measurements at the next point of a path, and the path with it."""
        small = sketch(theta_n, self.sketch)
        exactly = len(theta_n) <= self.exact
        kept = theta_n if exactly else small
        after = _moved(state, kept, step)
        found = _measured(state, after, length(theta_n))
        if slope_n is not None and state.looks:
            slope = slope_n if exactly else sketch(slope_n, self.sketch)
            found["descent"] = _known(cosine(after.move, -slope))
        found["exactly"] = Measurement(float(exactly))
        return found | {"sketch": Measurement(small, axes=("component",))}, after

    def _slope(self, view: "ModelView") -> Vector | None:
        windows = side_windows(view, self.tokens, "train") if self.tokens else []
        if not windows:
            return None
        return np.asarray(view.objective(windows).gradient().cpu().numpy(), np.float64)


def _moved(state: Walked, now: Vector, step: int) -> Walked:
    if not state.looks:
        return Walked(now, now, np.zeros_like(now), 0.0, 1, step)
    move = now - state.now
    return Walked(state.begin, now, move, state.length + length(move), state.looks + 1, step)


def _measured(before: Walked, after: Walked, norm: float) -> dict[str, Measurement]:
    found = {"norm": _known(norm)}
    if not before.looks:
        return found
    move, displacement = length(after.move), length(after.now - after.begin)
    steps = after.step - before.step
    turned = cosine(after.move, before.move) if before.looks > 1 else math.nan
    return found | {
        "move": _known(move),
        "move_a_step": _known(move / steps if steps > 0 else math.nan),
        "relative_move": _known(move / norm if norm > 0 else math.nan),
        "length": _known(after.length),
        "displacement": _known(displacement),
        "straightness": _known(displacement / after.length if after.length > 0 else math.nan),
        "turning": _known(turned),
    }


def _known(value: float) -> Measurement:
    return Measurement(value, "missing" if math.isnan(value) else "ok" if math.isfinite(value) else "nonfinite")
