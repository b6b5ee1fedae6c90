"""Planned weights: what a planner answers for a region, remembered by the region's own numbers."""

from collections.abc import Callable, Hashable
from functools import lru_cache

import attrs

from andrea_core import Region, Vector


@attrs.frozen
class _Case:
    """A question to a planner: two are equal when their numbers are, whatever objects hold them."""

    numbers: tuple[Hashable, ...]
    region: Region = attrs.field(eq=False)
    answer: Callable[[Region], Vector] = attrs.field(eq=False)


def planned(region: Region, answer: Callable[[Region], Vector], numbers: tuple[Hashable, ...]) -> Vector:
    """Return `answer(region)`, (K,), a fresh copy; asked once for each region and the `numbers` that settle it."""
    stated = region.stated
    bounds = (region.lower.tobytes(), region.upper.tobytes(), repr(stated.groups), repr(stated.rows))
    return _answer(_Case((*bounds, *numbers), region, answer)).copy()


@lru_cache(maxsize=16)
def _answer(case: _Case) -> Vector:
    return case.answer(case.region)
