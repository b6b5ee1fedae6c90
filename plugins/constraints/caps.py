"""Caps: an upper bound on the weight of each named source (a half-space each, as in the seed lessons)."""

from collections.abc import Mapping
from typing import ClassVar

import attrs

from andrea_core import Context, Region, check_sources, weights_by_source


@attrs.frozen
class Caps:
    """Keep each named source at or below its cap; a cap of 0 excludes it.

    Source: the seed lesson on the simplex walk (dictionary <= 0.25 after the polish).
    An unseen source is bounded like any other.
    """

    caps: Mapping[str, float] = weights_by_source()
    around_weights: ClassVar[bool] = False

    def restrict(self, region: Region, context: Context) -> Region:
        """Return the region's part below the caps; raises ScenarioError for a name that is no source."""
        where = f"caps of stage {context.stage!r}"
        check_sources(self.caps, context.sources, where)
        return region.restrict(caps=self.caps, reason=f"stage {context.stage!r}")
