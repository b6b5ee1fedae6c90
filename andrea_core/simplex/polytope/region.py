"""The region with rows: bounds on sources hold bitwise, any other linear bounds approximately."""

import math
from functools import cached_property
from typing import TYPE_CHECKING, cast

import attrs
import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from andrea_core.simplex import checking, nearest as nearest_vertex
from andrea_core.simplex.fixup import fix_up
from andrea_core.simplex.moments import Estimate
from andrea_core.simplex.nearest import VertexDistance
from andrea_core.simplex.polytope import faces, lp, measures
from andrea_core.simplex.polytope.dual import METRICS, nearest
from andrea_core.simplex.polytope.effective import effective
from andrea_core.simplex.polytope.sampling import PolytopeSampler
from andrea_core.simplex.polytope.survey import survey as survey
from andrea_core.simplex.region import Ball, Region
from andrea_core.simplex.volume import LogVolume
from andrea_core.values import Vector

if TYPE_CHECKING:
    from andrea_core.simplex.polytope.survey import Survey

ROW_SLACK = 1e-9
"""A row, scaled to a largest coefficient of 1, may be missed by this."""
_LARGE = 1e4
_SNAP = 1e-12


@attrs.frozen(eq=False, slots=False)
class Polytope(Region):
    """A region cut by rows, bounds on any linear combination of weights; made by `Region.of(rows=...)`.

    As for every region, bounds of sources hold bitwise, excluded sources are +0.0 and `math.fsum` of the weights is
    1.0. Rows, and group bounds beside them, are met to `ROW_SLACK`. `lower` and `upper`, which hold bitwise, are
    tightened by what the bounds of sources imply for each other, and by rows only where they leave a source no choice;
    `effective` tells how far the weights really reach.
    """

    @property
    def known(self) -> "Survey":
        """The rows, the hull, the centre."""
        return cast("Survey", self._verdict)

    @property
    def approximate(self) -> bool:
        """Whether some methods are approximate: here, rows are met to `ROW_SLACK`, and draws may be by hit-and-run."""
        return True

    @property
    def dimension(self) -> int:
        """Dimension of the region, within the tolerance of the linear programs."""
        return int(self.known.basis.shape[1])

    @property
    def centre(self) -> Vector:  # type: ignore[override,unused-ignore]
        """(K,) the middle of a largest ball, of all of them the one nearest to equal weights; a good start.

        Where no row cuts into the other bounds, the centre that these have without rows.
        """
        return self.known.centre

    @cached_property
    def effective(self) -> checking.Effective:
        """The least and the largest value (K,) of each weight, to about 1e-9, and the reasons: rows are named.

        By two linear programs for each free source, at the first call.
        """
        return effective(self.known.rows, self.box, self._labels(), (self.lower_reasons, self.upper_reasons))

    def _labels(self) -> list[str]:
        labels = [row.label(self.names) for row in self.stated.rows]
        return labels + [self.stated.label(group.members) for group in self.stated.groups]

    def chebyshev(self) -> Ball:
        """Return the centre (K,) and the radius of a largest ball inside the region, to the solver's tolerance."""
        return Ball(self.known.ball, self.known.radius)

    def project(self, v: npt.ArrayLike, divergence: str = "euclidean") -> Vector:
        """Return the nearest weights to v (K,), or to each row of v (N, K); legal weights come back bit for bit.

        Nearest to about 1e-12 where the search for the rows' multipliers ends; where it does not, what it found is
        moved toward the centre until the rows are met. Raises ValueError as `Region.project`.
        """
        if divergence not in METRICS:
            raise ValueError(f"divergence must be one of {', '.join(METRICS)}, got {divergence!r}")
        values = checking.finite(v, len(self.names))
        if divergence == "kl" and (values < 0).any():
            raise ValueError("project under kl: entries must not be negative")
        if values.ndim == 2:
            return np.array([self.project(row, divergence) for row in values]).reshape(values.shape)
        if self.contains(values):
            return values.copy()
        return self.settle(nearest(values, self.known.rows, self.box, divergence))

    def vertex(self, scores: npt.ArrayLike) -> Vector:
        """Return a maximiser of the sum of scores * w for scores (K,) or each row of scores (N, K).

        By a linear program: a vertex to the solver's tolerance; ties go as the solver has it. Infinite scores count as
        far larger than all finite ones; raises ValueError for NaN.
        """
        values = checking.ranked(scores, len(self.names))
        if values.ndim == 2:
            return np.array([self.vertex(row) for row in values]).reshape(values.shape)
        if self.is_point:
            return self.centre.copy()
        return self.settle(self._snapped(lp.best(_moderate(values), self.known.rows, self.box)))

    def vertices(self, limit: int = 10_000) -> Vector:
        """Return all vertices (V, K), in falling lexicographic order, to 1e-9.

        Raises AndreaError if there are more than `limit`, or more than eight dimensions.
        """
        rows = np.array([self.settle(self._snapped(w)) for w in faces.every(self.known, limit)])
        return rows[np.lexsort(-rows.T[::-1])]

    def _snapped(self, w: Vector) -> Vector:
        """Return w (K,) with weights that a solver's rounding keeps off a bound moved onto it."""
        w = np.where(w <= self.lower + _SNAP, self.lower, w)
        return np.where(w >= self.upper - _SNAP, self.upper, w)

    @cached_property
    def sampler(self) -> PolytopeSampler:  # type: ignore[override]
        """How draws are made: `method`, `acceptance`, `approximate`; `report` says what draws are worth."""
        return PolytopeSampler(self.known)

    def sample(self, rng: Generator, n: int | None = None) -> Vector:
        """Return one draw (K,) or n draws (n, K): exactly uniform by rejection, or nearly so by hit-and-run."""
        rows = self.sampler.draw(checking.generator(rng), checking.count(n))
        settled = np.array([self.settle(row) for row in rows]).reshape(rows.shape)
        return settled[0] if n is None else settled

    def log_volume_fraction(self) -> LogVolume:
        """Return an estimate, from draws, of the log of the share of the simplex over the free sources.

        `error` is its standard error. Where rows hold with equality, the share is of what they leave of the simplex.
        """
        return measures.log_fraction(self.stated, self.known, self.sampler)

    def mean_estimate(self) -> Estimate:
        """Return the mean (K,) of draws, legal weights, with its standard error."""
        made = measures.moments(self.sampler, covariance=False)
        return made if self.is_point else attrs.evolve(made, value=self.settle(made.value))

    def covariance_estimate(self) -> Estimate:
        """Return the covariance (K, K) of draws, with its standard error."""
        return measures.moments(self.sampler, covariance=True)

    def distance_to_nearest_vertex(self, w: npt.ArrayLike, limit: int = 1000) -> VertexDistance:
        """Return the distance from w (K,) to the nearest vertex, to 1e-9, or bounds on it, as `Region` does.

        Exact up to `limit` vertices in up to eight dimensions.
        """
        values = checking.single(w, len(self.names))
        free = 1 + len(self.known.rows.low)

        def spared(least: Vector) -> float:
            # At a vertex no more sources are off their bounds than there are rows, and the sum.
            return float(np.sort(least)[-free:].sum())

        slack = ROW_SLACK * math.sqrt(len(values))
        return nearest_vertex.seek(values, self.box, lambda: self.vertices(limit), self.vertex, spared, slack)

    def contains(self, w: npt.ArrayLike) -> bool:
        """Return whether w (K,) is legal: bounds bitwise, the exact sum, rows to `ROW_SLACK`."""
        values = checking.numbers(w)
        return bool(values.shape == self.lower.shape and self.box.holds(values) and self._meets_rows(values))

    def _meets_rows(self, w: Vector) -> bool:
        return self.is_point or self.known.rows.excess(w) <= ROW_SLACK

    def check(self, w: npt.ArrayLike) -> list[str]:
        """Return what is wrong with w (K,), one sentence each, empty for legal weights."""
        values = checking.numbers(w)
        found = super().check(values) if values.shape != self.lower.shape or not self.contains(values) else []
        if values.shape != self.lower.shape or not np.isfinite(values).all() or self._meets_rows(values):
            return found
        rows = self.known.rows
        scales = [row.scale for row in self.stated.rows] + [1.0] * len(self.stated.groups)
        sides = zip(self._labels(), scales, rows.matrix @ values, rows.low, rows.high, strict=True)
        for label, scale, value, low, high in sides:
            if not low - ROW_SLACK <= value <= high + ROW_SLACK:
                found.append(f"{label} = {value * scale!s} {_missed(value < low, low * scale, high * scale)}")
        return found

    def offence(self, w: Vector) -> float:
        """Return the largest amount by which w (K,) breaks a bound or a row or misses the sum, 0.0 for none."""
        return max(super().offence(w), 0.0 if self.is_point else self.known.rows.excess(w))

    def settle(self, w: Vector) -> Vector:
        """Return w (K,) with bounds and sum exact and rows within `ROW_SLACK`, moved toward the centre if need be."""
        w = fix_up(w, self.box)
        if self._meets_rows(w):
            return w
        low, high = 0.0, 1.0
        for _ in range(50):
            share = 0.5 * (low + high)
            met = self._meets_rows(fix_up(w + share * (self.centre - w), self.box))
            low, high = (low, share) if met else (share, high)
        return fix_up(w + high * (self.centre - w), self.box)

    def face_dimension(self, w: npt.ArrayLike) -> int:
        """Return the dimension of the smallest face that holds w (K,), rows counted as met within `ROW_SLACK`."""
        return faces.dimension(checking.single(w, len(self.names)), self.known, ROW_SLACK)


def _missed(below: bool, low: float, high: float) -> str:
    """Return which side of a row is missed; a side that does not bind is never told."""
    return f"is below {low!s}" if below else f"is above {high!s}"


def _moderate(scores: Vector) -> Vector:
    """Return scores with infinities replaced by numbers far beyond the finite ones, and a spread of 1."""
    held = np.isfinite(scores)
    scores = np.where(held, np.ldexp(scores, -2), scores)  # differences of the largest numbers stay finite
    low, high = (float(scores[held].min()), float(scores[held].max())) if held.any() else (0.0, 0.0)
    spread = max(high - low, 1e-300)
    scaled = (np.clip(scores, low, high) - low) / spread
    return np.where(scores == np.inf, _LARGE, np.where(scores == -np.inf, -_LARGE, scaled))
