"""What a region measures: its share of the simplex, mean and covariance of uniform draws, how near its vertices are."""

from abc import abstractmethod
from functools import cached_property

import numpy.typing as npt

from andrea_core.simplex import checking, moments, nearest, volume
from andrea_core.simplex.bounds import Bounds
from andrea_core.simplex.box import Box
from andrea_core.simplex.slices import Slice
from andrea_core.values import Vector


class Measured:
    """The measures of a region; volume and moments are known for bounds on single sources only."""

    stated: Bounds

    @property
    @abstractmethod
    def box(self) -> Box:
        """The effective bounds and the numbers that follow from them."""

    @abstractmethod
    def vertices(self, limit: int = 10_000) -> Vector:
        """Return all vertices (V, K); AndreaError if there are more than `limit`."""

    @cached_property
    def _slice(self) -> Slice:
        return Slice.of(self.stated, self.box)

    def log_volume_fraction(self) -> volume.LogVolume:
        """Return the log of the share that the region takes of the simplex over its free sources, with an error bound.

        Free sources are those that can move, `dimension` + 1 of them; sources pinned or excluded do not count, so that
        pinning never makes the share 0. The whole simplex has 0.0, and so has a point. Raises AndreaError for bounds
        on sums of sources.
        """
        return volume.log_fraction(self._slice)

    def mean(self) -> Vector:
        """Return the mean (K,) of uniform draws, legal weights; raises as `log_volume_fraction`."""
        return moments.mean(self._slice, self.box)

    def covariance(self) -> Vector:
        """Return the covariance (K, K) of uniform draws, its rows summing to 0; raises as `log_volume_fraction`."""
        return moments.covariance(self._slice, self.box)

    def distance_to_nearest_vertex(self, w: npt.ArrayLike, limit: int = 1000) -> nearest.VertexDistance:
        """Return the Euclidean distance from w (K,) to the nearest vertex, or bounds on it.

        Exact under floors alone and up to `limit` vertices. Raises ValueError for NaN, infinity, a wrong shape;
        AndreaError for bounds on groups of sources and more vertices than that, and for rows.
        """
        values = checking.finite(w, len(self.box.lower))
        if values.ndim != 1:
            raise ValueError(f"expected one weight vector of shape ({len(self.box.lower)},), got shape {values.shape}")
        if self.stated.groups and not self.stated.rows:
            return nearest.among(values, self.vertices(limit))
        return nearest.to_vertex(values, self._slice, self.box, limit)
