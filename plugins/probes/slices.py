"""Slices of the loss landscape: along a line and over a plane through the present parameters."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, Timetable, Vector, number, one_of, positive
from andrea_plugins.probes.eigen_plane import sharpest_plane
from andrea_plugins.probes.path_geometry import principal_plane
from andrea_plugins.probes.perturbing import as_offset, flat_parameters, normal, side_windows

if TYPE_CHECKING:
    from torch import Tensor

    from andrea_core import ModelView, Objective


@attrs.frozen(eq=False)
class Trail:
    """Parameters at past looks (t, n), t at most `keep`; every `stride`-th look is kept."""

    points: Vector
    looks: int = 0
    stride: int = 1


@attrs.frozen
class Slices:
    """Measure f(a) = L(theta + a d) and f(a, b) = L(theta + a d + b e) on a grid around 0 that includes 0.

    Source: Li et al. 2018 (arXiv 1712.09913). `directions` are

    - "random": d, e standard normal from `seed`, the same at every look, filter-normalised: each row of a matrix is
      scaled to the length of that row of theta, and vectors (gains, biases) are 0, as is the row of a row that is 0;
    - "path": the two principal directions of the looks so far, `keep` of them evenly thinned, about the present point,
      of length 1 as a share of the path: a = 1 is the path's extent along d (section 7.2 there);
    - "eigen": the two largest eigenvalues' vectors, by at most `products` Hessian-vector products, each scaled to
      sqrt(2 / lambda): at a = 1 the curvature alone has raised the loss by one nat (a direction of no positive
      curvature has length 1); also `eigenvalues` (2,) with their status;
    - "last": d the line back to the last look (a = 1 is there), e filter-normalised random.

    Measured: `line` (points,), `plane` (points, points), a along the first axis, `places` (points,), evenly from -span
    to span; for "path" also `path` (keep, 2), the looks' coordinates in the plane, and `shares` (2,), the parts of the
    path's squared extent that the directions hold. Cells that are not finite stay in, are counted in `nonfinite`, and
    give the array that status. Cost: `points` losses for the line and points^2 for the plane (off with `plane`
    = false) over `tokens` tokens, so that it looks at the
    end of a run only, where no time is named; for "path" the state keeps `keep` copies of the parameters.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    times: ClassVar[Timetable] = Timetable(at_end=True)

    directions: str = one_of("random", "path", "eigen", "last", default="random")
    points: int = number(default=11, at_least=3, at_most=255)
    span: float = positive(default=1.0, at_most=1e6)
    plane: bool = True
    seed: int = number(default=1, at_least=0, at_most=2**62)
    keep: int = number(default=8, at_least=2, at_most=512)
    products: int = number(default=40, at_least=2)
    tokens: int = number(default=512, at_least=1)
    side: str = one_of("train", "heldout", default="train")

    def __attrs_post_init__(self) -> None:
        if self.points % 2 == 0:
            raise ValueError(f"points must be odd so that the grid includes 0, got {self.points}")

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of what is one number."""
        return ("nonfinite", "products") if self.directions == "eigen" else ("nonfinite",)

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of the arrays."""
        drawn = ("line", "places", "plane") if self.plane else ("line", "places")
        return (*drawn, *{"eigen": ("eigenvalues",), "path": ("path", "shares")}.get(self.directions, ()))

    def start(self, sources: Sources) -> Trail:
        """Return a trail without points."""
        return Trail(np.zeros((0, 0)))

    def measure(
        self, state: Trail, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], Trail]:
        """Measure the line and the plane."""
        theta = flat_parameters(view)
        after = self._extended(state, theta)
        windows = side_windows(view, self.tokens, self.side)
        if not windows:
            return {"nonfinite": Measurement(math.nan, "missing")}, after
        objective = view.objective(windows)
        chosen = self._directions(objective, state, theta, rng)
        if chosen is None:
            return {"nonfinite": Measurement(math.nan, "missing")}, after
        one, other, more = chosen
        places = np.linspace(-self.span, self.span, self.points)
        found = {"line": line(objective, one, places), "places": Measurement(places, axes=("place",))}
        if self.plane:
            found["plane"] = plane(objective, one, other, places)
        broken = sum(int((~np.isfinite(np.asarray(found[key].value))).sum()) for key in found)
        return found | more | {"nonfinite": Measurement(float(broken))}, after

    def _directions(
        self, objective: "Objective", state: Trail, theta: Vector, rng: np.random.Generator
    ) -> "tuple[Tensor, Tensor, dict[str, Measurement]] | None":
        drawn = [filter_normalised(objective, normal(objective, 2 * self.seed + k)) for k in range(2)]
        if self.directions == "random":
            return drawn[0], drawn[1], {}
        if self.directions == "eigen":
            return sharpest_plane(objective, self.products, rng)
        if not len(state.points):
            return None
        if self.directions == "last":
            return as_offset(objective, state.points[-1] - theta), drawn[1], {}
        points = np.vstack([state.points, theta])
        directions, coordinates, shares = principal_plane(points)
        extents = np.abs(coordinates).max(0)
        shown = np.full((self.keep + 1, 2), np.nan)
        shown[: len(points)] = coordinates / np.where(extents > 0, extents, 1)
        one, other = (as_offset(objective, d * e) for d, e in zip(directions, extents, strict=True))
        status = "ok" if np.isfinite(shown).all() else "missing"
        held = "ok" if np.isfinite(shares).all() else "nonfinite"
        more = {"path": Measurement(shown, status, ("look", "axis")), "shares": Measurement(shares, held, ("axis",))}
        return one, other, more

    def _extended(self, state: Trail, theta: Vector) -> Trail:
        if self.directions in ("random", "eigen"):
            return state
        if self.directions == "last":
            return Trail(theta[None], state.looks + 1, 1)
        points, stride = state.points, state.stride
        if state.looks % stride == 0:
            points = np.vstack([points, theta]) if len(points) else theta[None]
        if len(points) > self.keep:
            points, stride = points[::2], 2 * stride
        return Trail(points, state.looks + 1, stride)


def filter_normalised(objective: "Objective", direction_n: "Tensor") -> "Tensor":
    """Return a direction whose rows in each matrix have the lengths of the parameters' rows; 0 for vectors."""
    pieces = []
    for leaf, piece in zip(objective.leaves, objective.split(direction_n), strict=True):
        if leaf.ndim < 2:
            pieces.append(piece * 0)
            continue
        rows, drawn = leaf.detach().flatten(1), piece.flatten(1)
        lengths = drawn.norm(dim=1, keepdim=True)
        pieces.append(drawn * (rows.norm(dim=1, keepdim=True) / lengths.clamp(min=1e-30)))
    return objective.flat(pieces)


def line(objective: "Objective", direction_n: "Tensor", places: Vector) -> Measurement:
    """Return the losses at theta + a d for each place a; at 0 theta itself, to the bit."""
    losses = [objective.loss(direction_n * float(a) if a else None) for a in places]
    return _cells(np.array(losses), ("place",))


def plane(objective: "Objective", one_n: "Tensor", other_n: "Tensor", places: Vector) -> Measurement:
    """Return the losses at theta + a d + b e, a along the first axis; at (0, 0) theta itself, to the bit."""
    losses = [
        [objective.loss(one_n * float(a) + other_n * float(b) if a or b else None) for b in places] for a in places
    ]
    return _cells(np.array(losses), ("place", "other"))


def _cells(losses: Vector, axes: tuple[str, ...]) -> Measurement:
    return Measurement(losses, "ok" if np.isfinite(losses).all() else "nonfinite", axes)
