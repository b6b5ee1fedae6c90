"""Relative floors: raise each weight to its floor, then normalise (ANDREA's own floor rule)."""

from collections.abc import Mapping

import attrs
import numpy as np

from andrea_core import Moment, Vector, by_source, weights_by_source


@attrs.frozen
class RelativeFloors:
    """Replace the weight of each active source by max(weight, floor) and divide by the sum.

    Source: ANDREA's floors lesson: the final weight is the larger of the tentative weight and the floor. Its example
    floors sum to more than 1, so they bound relative weights; dividing by the sum afterwards is this project's reading.
    A source may end below its floor; the constraint set `floors` is the one that guarantees a probability.
    Floors of sources that are not active, in this stage, are ignored. An unseen source is raised like any other.
    """

    floors: Mapping[str, float] = weights_by_source()

    def adjust(self, requested: Vector, moment: Moment) -> Vector:
        """Return the raised weights (K,), summing to 1; raises ScenarioError for a name that is no source."""
        floors = by_source(self.floors, moment.sources, "adjustment relative_floors, floors")
        raised: Vector = np.where(moment.active, np.maximum(requested, floors), requested)
        raised /= raised.sum()
        return raised
