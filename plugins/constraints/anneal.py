"""Anneal: floors and caps that move linearly from one set to another over a span of steps."""

from collections.abc import Mapping
from typing import ClassVar

import attrs

from andrea_core import Context, Region, check_sources, span, weights_by_source


@attrs.frozen
class BoundSet:
    """Floors and caps at one end of the way; a source left out has the simplex's own 0 and 1, a cap of 0 excludes."""

    floors: Mapping[str, float] = weights_by_source(default=attrs.Factory(dict))
    caps: Mapping[str, float] = weights_by_source(default=attrs.Factory(dict))


@attrs.frozen
class Anneal:
    """Move the bounds in a straight line from the set `before` to the set `after`: `steps` steps from `start` on.

    Up to `start` the first set holds, from `start + steps` on the second; between them, at the share t of the way,
    each bound is (1 - t) * before + t * after. `start` counts from the beginning of the run; left out, it is the start
    of the stage in force. If both ends leave weights v and w possible, (1 - t) v + t w keeps every bound in between:
    what is feasible at both ends, together with any fixed sets, is feasible all the way. An unseen source is bounded
    like any other; a source whose cap reaches 0 is excluded from that step on.
    """

    before: BoundSet
    after: BoundSet
    steps: int = span(at_least=1)
    start: int | None = span(default=None, at_least=0)
    around_weights: ClassVar[bool] = False

    def restrict(self, region: Region, context: Context) -> Region:
        """Return the region's part inside the bounds of the step; raises ScenarioError for a name that is no source."""
        where = f"anneal of stage {context.stage!r}"
        for ends in (self.before, self.after):
            check_sources((*ends.floors, *ends.caps), context.sources, where)
        t = self.share(context)
        floors = _between(self.before.floors, self.after.floors, 0.0, t)
        caps = _between(self.before.caps, self.after.caps, 1.0, t)
        return region.restrict(
            floors=floors, caps=caps, reason=f"anneal of stage {context.stage!r}, {t:.0%} of the way"
        )

    def share(self, context: Context) -> float:
        """Return which part of the way lies behind at the context's step, in [0, 1]."""
        start = context.stage_start if self.start is None else self.start
        return min(max((context.step - start) / self.steps, 0.0), 1.0)


def _between(first: Mapping[str, float], second: Mapping[str, float], absent: float, t: float) -> dict[str, float]:
    """Return the bounds at the share t; both ends come back bit for bit, and a floor never overtakes its cap."""
    names = dict.fromkeys((*first, *second))
    return {name: (1.0 - t) * first.get(name, absent) + t * second.get(name, absent) for name in names}
