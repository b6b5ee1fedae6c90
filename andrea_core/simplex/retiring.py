"""Taking sources out of a region, their floors notwithstanding: the one operation that drops a stated bound."""

from collections.abc import Mapping

import attrs

from andrea_core.errors import ScenarioError
from andrea_core.simplex.bounds import nearest
from andrea_core.simplex.box import frozen
from andrea_core.simplex.region import Region


def retire(region: Region, reasons: Mapping[str, str]) -> Region:
    """Return the region in which the named sources are excluded, each for its reason, and their floors dropped.

    A dropped floor leaves its trace: `dropped(region)` tells it, and `lower_reasons` does. Raises ScenarioError for an
    unknown source, InfeasibleRegion when the other bounds need a source that goes.
    """
    stated = region.stated
    lower, upper = stated.lower.copy(), stated.upper.copy()
    lower_reasons, upper_reasons = dict(stated.lower_reasons), dict(stated.upper_reasons)
    for name, reason in reasons.items():
        if name not in region.names:
            raise ScenarioError(f"exclusion of an unknown source {name!r}; {nearest(name, region.names)}")
        i = region.names.index(name)
        if lower[i] > 0:
            lower_reasons[i] = f"{stated.floor(i)} dropped: {reason}"
            lower[i] = 0.0
        if upper[i] > 0:
            upper[i], upper_reasons[i] = 0.0, reason
    kept = attrs.evolve(
        stated,
        lower=frozen(lower),
        upper=frozen(upper),
        lower_reasons=lower_reasons,
        upper_reasons=upper_reasons,
    )
    return Region._judged(kept)


def dropped(region: Region) -> list[str]:
    """Return a sentence for each floor that `retire` dropped on the way to this region."""
    stated = region.stated
    return [why for i, why in sorted(stated.lower_reasons.items()) if stated.lower[i] == 0]
