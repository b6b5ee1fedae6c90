"""What a region tells: why its bounds are, its share, mean and covariance of draws, how near its vertices are."""

from abc import abstractmethod
from functools import cached_property

import numpy.typing as npt

from andrea_core.simplex import checking, moments, nearest, volume
from andrea_core.simplex.bounds import Bounds
from andrea_core.simplex.box import Box
from andrea_core.simplex.slices import Slice
from andrea_core.values import Vector


class Measured:
    """The measures of a region, as they are for bounds on single sources; sums of sources need others."""

    stated: Bounds

    @property
    @abstractmethod
    def box(self) -> Box:
        """The effective bounds and the numbers that follow from them."""

    @abstractmethod
    def vertices(self, limit: int = 10_000) -> Vector:
        """Return all vertices (V, K); AndreaError if there are more than `limit`."""

    @property
    def lower_reasons(self) -> tuple[str, ...]:
        """Where each effective lower bound comes from; empty for the simplex's own 0."""
        return checking.reasons(self.box.lower, self.stated.lower, self.stated.lower_reasons)

    @property
    def upper_reasons(self) -> tuple[str, ...]:
        """Where each effective upper bound comes from; empty for the simplex's own 1."""
        return checking.reasons(self.box.upper, self.stated.upper, self.stated.upper_reasons)

    @property
    def effective(self) -> checking.Effective:
        """The bounds and their reasons as one; under rows, how far the weights really reach."""
        return checking.Effective(self.box.lower, self.box.upper, self.lower_reasons, self.upper_reasons)

    @cached_property
    def _slice(self) -> Slice:
        return Slice.of(self.stated, self.box)

    def log_volume_fraction(self) -> volume.LogVolume:
        """Return the log of the share that the region takes of the simplex over its free sources, with an error bound.

        Free sources are those that can move, `dimension` + 1 of them; sources pinned or excluded do not count, so that
        pinning never makes the share 0. The whole simplex has 0.0, and so has a point. Under rows, and under many
        group bounds, an estimate from draws with its standard error, marked `approximate`.
        """
        return volume.log_fraction(self._slice)

    def mean(self) -> Vector:
        """Return the mean (K,) of uniform draws, legal weights; `mean_estimate` says how sure it is."""
        return self.mean_estimate().value

    def covariance(self) -> Vector:
        """Return the covariance (K, K) of uniform draws, rows summing to 0; `covariance_estimate` says how sure."""
        return self.covariance_estimate().value

    def mean_estimate(self) -> moments.Estimate:
        """Return the mean (K,) of uniform draws, with its standard error where it is from draws."""
        return moments.Estimate.sure(moments.mean(self._slice, self.box), moments.method_of(self._slice))

    def covariance_estimate(self) -> moments.Estimate:
        """Return the covariance (K, K) of uniform draws, with its standard error where it is from draws."""
        return moments.Estimate.sure(moments.covariance(self._slice, self.box), moments.method_of(self._slice))

    def distance_to_nearest_vertex(self, w: npt.ArrayLike, limit: int = 1000) -> nearest.VertexDistance:
        """Return the Euclidean distance from w (K,) to the nearest vertex, or bounds on it.

        Exact under floors alone and up to `limit` vertices. Raises ValueError for NaN, infinity, a wrong shape.
        """
        values = checking.single(w, len(self.box.lower))
        return nearest.to_vertex(values, self._slice, self.box, limit)
