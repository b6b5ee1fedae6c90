"""Exclude: fix the weight of the named sources at exactly 0, so that the simplex loses a dimension for each."""

from typing import ClassVar

import attrs

from andrea_core import Context, Region, check_sources, source_names


@attrs.frozen
class Exclude:
    """Take sources out: their weight is exactly +0.0 and no row of them is drawn.

    Source: the seed lessons (repo-docs and repo-docstrings are excluded from the polish on, which fills the memorised
    gully in). A debt that the sampler still has to an excluded source is forgiven, not paid.
    """

    sources: tuple[str, ...] = source_names()
    around_weights: ClassVar[bool] = False

    def restrict(self, region: Region, context: Context) -> Region:
        """Return the region's face without the sources; raises ScenarioError for a name that is no source."""
        where = f"exclude of stage {context.stage!r}"
        check_sources(self.sources, context.sources, where)
        return region.restrict(exclude=self.sources, reason=f"stage {context.stage!r}")
