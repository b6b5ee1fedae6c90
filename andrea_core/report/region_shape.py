"""What a picture of regions shows: three corners or parallel axes, outlines, uniform draws, marked points."""

import math
from collections.abc import Mapping, Sequence

import attrs
import numpy as np

from andrea_core.errors import AndreaError
from andrea_core.report.projection import Plane, shadow
from andrea_core.report.region_facts import corners, mean, plural
from andrea_core.simplex import Region
from andrea_core.values import Vector

DRAWS = 300
REST = "rest"
HEIGHT = math.sqrt(3) / 2
_TRIANGLE = np.array([[0.5, HEIGHT], [0.0, 0.0], [1.0, 0.0]])
"""Places of the corners top, left, right in a triangle of side 1; distances of weights are sqrt(2) times as long."""


@attrs.frozen(eq=False)
class Shape:
    """One region in a picture: its uniform draws (n, K), centre and mean (K,), and in a triangle its outline (m, 2).

    `corners` (V, 2) are its vertices in the triangle when each corner is one source; `ball` is the radius of a
    largest ball there, 0 where it is none of the picture's.
    """

    name: str
    region: Region
    draws: Vector
    mean: Vector | None
    outline: Vector | None = None
    corners: Vector | None = None
    ball: float = 0.0


@attrs.frozen(eq=False)
class Picture:
    """Regions of the same sources, on a plane with three corners, or on parallel axes when `plane` is None."""

    names: tuple[str, ...]
    shapes: tuple[Shape, ...]
    plane: Plane | None = None
    labels: tuple[str, ...] = ()
    why: str = ""


def picture(regions: Mapping[str, Region], groups: Mapping[str, Sequence[str]]) -> Picture:
    """Return what to draw of some regions of the same sources.

    Three groups (the sources in none of them are one more, the rest), or three open sources, make a triangle; all
    else parallel axes, and `why` says so. Raises AndreaError without a region, or when a source is in two groups.
    """
    if not regions:
        raise AndreaError("there is no region to draw")
    names = next(iter(regions.values())).names
    sets = _corners(names, regions, groups)
    if len(sets) != 3:
        shapes = tuple(_shape(name, region, None, False) for name, region in regions.items())
        made = f"{plural(len(sets), 'group')} (with the rest)" if groups else plural(len(sets), "open source")
        return Picture(names, shapes, why=f"parallel coordinates: a triangle needs three corners, not {made}")
    axes = np.zeros((2, len(names)))
    for place, members in zip(_TRIANGLE, sets.values(), strict=True):
        axes[:, [names.index(member) for member in members]] = place[:, None]
    plane = Plane("ternary", np.zeros(len(names)), axes, np.full(2, np.nan))
    single = all(len(members) == 1 for members in sets.values())
    shapes = tuple(_shape(name, region, plane, single) for name, region in regions.items())
    return Picture(names, shapes, plane, tuple(sets))


def _corners(
    names: Sequence[str], regions: Mapping[str, Region], groups: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """Return the sets of sources that stand at the corners, by label."""
    open_ = [name for i, name in enumerate(names) if any(region.upper[i] > 0 for region in regions.values())]
    if not groups:
        return {name: (name,) for name in open_}
    members = [member for group in groups.values() for member in group]
    twice = [name for name in members if members.count(name) > 1]
    if twice:
        raise AndreaError(f"source {twice[0]!r} is in two groups; a picture needs groups that do not overlap")
    sets = {label: tuple(group) for label, group in groups.items()}
    rest = tuple(name for name in open_ if name not in members)
    sets |= {REST: rest} if rest else {}
    return {name: (name,) for name in open_} if len(sets) != 3 and len(open_) == 3 else sets


def _shape(name: str, region: Region, plane: Plane | None, single: bool) -> Shape:
    draws, average = region.sample(np.random.default_rng(0), DRAWS), mean(region)
    middle = None if average is None else average.value
    if plane is None:
        return Shape(name, region, draws, middle)
    outline = shadow(region, plane)
    found = corners(region, 6) if single else None
    places = None if found is None else plane.project(found)
    ball = region.chebyshev().radius / math.sqrt(2) if single and region.dimension == 2 else 0.0
    return Shape(name, region, draws, middle, outline, places, ball)
