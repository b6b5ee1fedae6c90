"""Floors: a lower bound on the weight of each named source (a half-space each, as in the seed lessons)."""

from collections.abc import Mapping
from typing import ClassVar

import attrs

from andrea_core import Context, Region, check_sources, weights_by_source


@attrs.frozen
class Floors:
    """Keep each named source at or above its floor: the region is the right side of every hyperplane w_k = f_k.

    Source: the seed lesson on the simplex walk (hermes3-general >= 0.7 after the polish).
    These floors bound probabilities. ANDREA's own trainer floors relative weights before they are normalised; that
    is the adjustment `relative_floors`. An unseen source is bounded like any other.
    """

    floors: Mapping[str, float] = weights_by_source()
    around_weights: ClassVar[bool] = False

    def restrict(self, region: Region, context: Context) -> Region:
        """Return the region's part above the floors; raises ScenarioError for a name that is no source."""
        where = f"floors of stage {context.stage!r}"
        check_sources(self.floors, context.sources, where)
        return region.restrict(floors=self.floors, reason=f"stage {context.stage!r}")
