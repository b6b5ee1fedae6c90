"""The region with group bounds: the methods of a region, each exact for disjoint groups as well."""

from functools import cached_property
from typing import TYPE_CHECKING, cast

import attrs
import numpy as np
import numpy.typing as npt

from andrea_core.simplex import checking, nearest
from andrea_core.simplex.divergence import kullback_leibler, kullback_leibler_rows
from andrea_core.simplex.groups import centres, faces, measures, projection
from andrea_core.simplex.groups.box import Groups
from andrea_core.simplex.groups.sampling import GroupSampler
from andrea_core.simplex.moments import Estimate
from andrea_core.simplex.nearest import VertexDistance
from andrea_core.simplex.projection import euclidean, euclidean_rows
from andrea_core.simplex.region import Active, Ball, Region
from andrea_core.simplex.volume import LogVolume
from andrea_core.values import Vector

if TYPE_CHECKING:
    from andrea_core.simplex.groups.feasibility import GroupVerdict

_PROJECTIONS = {"euclidean": (euclidean, euclidean_rows), "kl": (kullback_leibler, kullback_leibler_rows)}


@attrs.frozen(eq=False, slots=False)
class GroupedRegion(Region):
    """A region whose disjoint groups of sources have bounds on their summed weight; made by `Region.of(groups=...)`.

    As for every region, bounds of sources hold bitwise, excluded sources are +0.0 and `math.fsum` of the weights is
    1.0; `math.fsum` of a group is within its bounds to one unit in the last place. `lower` and `upper` are tightened by
    what the groups imply.
    """

    @property
    def groups(self) -> Groups:
        """The parts of the region, each with the window of its total; sources of no group are the last part."""
        return cast("GroupVerdict", self._verdict).groups

    @property
    def dimension(self) -> int:
        """Dimension of the region: the free sources, less one for each sum that is fixed."""
        return self.groups.dimension

    @cached_property
    def centre(self) -> Vector:
        """(K,) totals with equal relative slack, and weights with equal relative slack in each group."""
        return centres.relative(self.groups)

    def chebyshev(self) -> Ball:
        """Return the centre (K,) and the radius of a largest ball inside the region (Euclidean, in the affine hull)."""
        return Ball(*centres.chebyshev(self.groups))

    def project(self, v: npt.ArrayLike, divergence: str = "euclidean") -> Vector:
        """Return the nearest weights to v (K,), or to each row of v (N, K), as `Region.project` does."""
        if divergence not in _PROJECTIONS:
            raise ValueError(f"divergence must be one of {', '.join(_PROJECTIONS)}, got {divergence!r}")
        values = checking.finite(v, len(self.names))
        if divergence == "kl" and (values < 0).any():
            raise ValueError("project under kl: entries must not be negative")
        single, batch = _PROJECTIONS[divergence]
        if values.ndim == 1:
            return values.copy() if self.contains(values) else projection.nearest(values, self.groups, single)
        made = projection.nearest_rows(values, self.groups, single, batch)
        for i, row in enumerate(values):
            if self.groups.holds(row):
                made[i] = row
        return made

    def vertex(self, scores: npt.ArrayLike) -> Vector:
        """Return the vertex that maximises the sum of scores * w, for scores (K,) or each row of scores (N, K).

        Ties go to the smaller index. Infinite scores rank first or last; raises ValueError for NaN.
        """
        values = checking.ranked(scores, len(self.names))
        if values.ndim == 1:
            return projection.vertex(values, self.groups)
        return np.array([projection.vertex(row, self.groups) for row in values]).reshape(values.shape)

    def vertices(self, limit: int = 10_000) -> Vector:
        """Return all vertices (V, K), in falling lexicographic order; AndreaError if there are more than `limit`."""
        return faces.every(self.groups, limit)

    @cached_property
    def sampler(self) -> GroupSampler:  # type: ignore[override]
        """How draws are made: `method`, the predicted `acceptance` and, group by group, `acceptances`."""
        return GroupSampler(self.groups)

    def contains(self, w: npt.ArrayLike) -> bool:
        """Return whether w (K,) is legal: bounds bitwise, the exact sum, group totals to one unit in the last place."""
        values = checking.numbers(w)
        return bool(values.shape == self.lower.shape and self.groups.holds(values))

    def check(self, w: npt.ArrayLike) -> list[str]:
        """Return what is wrong with w (K,), one sentence each, empty for legal weights."""
        values = checking.numbers(w)
        if self.contains(values):
            return []
        found = super().check(values)
        if values.shape != self.lower.shape or self.is_point or not np.isfinite(values).all():
            return found
        for part, group in zip(self.groups.parts, self.stated.groups, strict=False):
            total = checking.summed(values[part.members])
            if not part.admits(total):
                floor, cap = self.stated.group_floor(group), self.stated.group_cap(group)
                side = f"below the {floor}" if total < part.at_least else f"above the {cap}"
                found.append(f"{self.stated.label(group.members)} = {total!r} is {side}")
        return found

    def offence(self, w: Vector) -> float:
        """Return the largest amount by which w (K,) breaks a bound or misses the sum, 0.0 for none."""
        totals = [(checking.summed(w[part.members]), part) for part in self.groups.parts]
        return max(super().offence(w), *(max(part.at_least - x, x - part.at_most) for x, part in totals))

    def settle(self, w: Vector) -> Vector:
        """Return w (K,), which offends by rounding at most, moved into the region by about as much."""
        return self.groups.settle(w)

    def log_volume_fraction(self) -> LogVolume:
        """Return the log of the share that the region takes of the simplex over its free sources, with its error.

        Each group whose total is fixed counts as a simplex of its own. Exact for few sources, by quadrature over the
        totals of up to three groups that bind, an estimate from draws (`approximate`) with its standard error beyond.
        """
        return measures.log_fraction(self.groups)

    def mean_estimate(self) -> Estimate:
        """Return the mean (K,) of uniform draws, legal weights, with its standard error where it is from draws."""
        return measures.mean(self.groups, self._draws)

    def covariance_estimate(self) -> Estimate:
        """Return the covariance (K, K) of uniform draws, with its standard error where it is from draws."""
        return measures.covariance(self.groups, self._draws)

    def _draws(self, count: int) -> Vector:
        return self.sampler.draw(np.random.default_rng(0), count)

    def distance_to_nearest_vertex(self, w: npt.ArrayLike, limit: int = 1000) -> VertexDistance:
        """Return the Euclidean distance from w (K,) to the nearest vertex, or bounds on it, as `Region` does."""
        values = checking.single(w, len(self.names))

        def spared(least: Vector) -> float:
            # At a vertex, each part has at most one source off its bounds: two of them could trade weight.
            return float(sum(least[part.members].max() for part in self.groups.parts))

        return nearest.seek(values, self.box, lambda: self.vertices(limit), self.vertex, spared)

    def active_groups(self, w: npt.ArrayLike) -> Active:
        """Return which groups (G,), in the order of `stated.groups`, have their total at the low or the high edge."""
        low, high = faces.met(checking.single(w, len(self.names)), self.groups)
        count = len(self.stated.groups)
        return Active(low[:count], high[:count])

    def face_dimension(self, w: npt.ArrayLike) -> int:
        """Return the dimension of the smallest face that holds w (K,)."""
        return faces.dimension(checking.single(w, len(self.names)), self.groups)
