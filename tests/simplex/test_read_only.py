"""What a region keeps is read-only: no array that it, its sampler or its numbers hold can be written to."""

import attrs
import numpy as np
import pytest

from andrea_core.simplex import Group, Region, Row

NAMES = tuple("abcdef")
REGIONS = {
    "free": Region.of(NAMES),
    "box": Region.of(NAMES, {"a": 0.1}, {"b": 0.3, "c": 0.2}, exclude=("f",)),
    "point": Region.of(NAMES, {"a": 1.0}),
    "groups": Region.of(NAMES, {}, {"c": 0.3}, groups=(Group(("a", "b"), 0.3, 0.6), Group(("c", "d"), 0.2, 0.5))),
    "fixed group": Region.of(NAMES, groups=(Group(("a", "b"), 0.3, 0.3),)),
    "rows": Region.of(NAMES, rows=(Row({"a": 1, "b": -2}, at_most=0),)),
    "tied rows": Region.of(NAMES, {"c": 0.1}, rows=(Row({"a": 1, "b": -1}, 0.0, 0.0),)),
}


def used(region):
    """Call all that may keep something, and return what is handed out without a copy being asked for."""
    centre = region.centre
    region.project(centre * 0.9)
    region.project(np.tile(centre * 0.9, (20, 1)))
    region.vertex(np.arange(6.0))
    region.vertices()
    region.sample(np.random.default_rng(0), 5)
    region.log_volume_fraction(), region.mean(), region.covariance()
    region.check(centre), region.face_dimension(centre), region.distance_to_nearest_vertex(centre)
    return region.sampler, region.lower, region.upper, centre


def arrays(value, path, seen):
    """Yield (path, array) for every array that a tree of objects holds."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from arrays(inner, f"{path}[{key!r}]", seen)
    elif isinstance(value, (list, tuple)):
        for k, inner in enumerate(value):
            yield from arrays(inner, f"{path}[{k}]", seen)
    elif attrs.has(type(value)):
        names = {field.name for field in attrs.fields(type(value))} | set(getattr(value, "__dict__", {}))
        for name in sorted(names):
            yield from arrays(getattr(value, name), f"{path}.{name}", seen)


@pytest.mark.parametrize("name", REGIONS)
def test_no_array_that_a_region_keeps_can_be_written_to(name):
    region = REGIONS[name]
    handed = used(region)
    found = list(arrays((region, *handed), name, set()))
    assert len(found) > 6
    assert [path for path, array in found if array.flags.writeable] == []


@pytest.mark.parametrize("name", REGIONS)
def test_the_centre_stays_what_it_is(name):
    region = REGIONS[name]
    before = region.centre.tolist()
    with pytest.raises(ValueError, match="read-only"):
        region.centre[0] = 1.0
    assert region.centre.tolist() == before
