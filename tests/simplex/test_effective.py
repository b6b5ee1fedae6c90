"""How far weights reach under rows: tightened by linear programs, never short of a point, rows named."""

import numpy as np
import pytest
from hypothesis import given, settings

from andrea_core.simplex import Region, Row
from andrea_core.testing.grouped import regions_with_rows


def test_a_row_tightens_the_bounds_and_is_named():
    region = Region.of("abc", {"b": 0.1}, rows=(Row({"a": 1, "b": -2}, at_most=0),))
    found = region.effective
    np.testing.assert_allclose(found.upper, [2 / 3, 1.0, 0.9], atol=1e-9)
    assert found.upper_reasons[0] == "implied by a - 2 b"
    assert found.lower_reasons[1] == region.lower_reasons[1]
    assert region.upper[0] == 0.9  # what holds bitwise is what the bounds of sources imply


@settings(max_examples=40)
@given(regions_with_rows())
def test_the_reach_is_met_and_never_exceeded(region):
    found = region.effective
    corners = np.array([region.vertex(sign * row) for row in np.eye(len(region.names)) for sign in (1, -1)])
    draws = np.vstack([corners, region.sample(np.random.default_rng(0), 20), region.centre])
    assert (draws >= found.lower - 2e-9).all()
    assert (draws <= found.upper + 2e-9).all()
    np.testing.assert_allclose(corners.max(axis=0), found.upper, atol=1e-7)
    np.testing.assert_allclose(corners.min(axis=0), found.lower, atol=1e-7)
    assert (found.lower >= region.lower).all()
    assert (found.upper <= region.upper).all()


def test_without_rows_the_effective_bounds_are_the_bounds():
    region = Region.of("abc", {"a": 0.5}, {"c": 0.25})
    assert region.effective.upper is region.upper
    assert region.effective.upper_reasons == ("", "implied by the other bounds", "cap")


@pytest.mark.parametrize("count", [2, 3])
def test_a_point_reaches_nothing_else(count):
    names = tuple("abc"[:count])
    region = Region.of(names, rows=(Row({"a": 1}, 1.0, 1.0),))
    assert region.effective.lower.tolist() == region.effective.upper.tolist() == region.centre.tolist()
