"""Regions with rows that are thinner than the tolerances of linear programs keep their shape, down to rounding."""

import numpy as np
import pytest

from andrea_core.simplex import Group, Region, Row
from andrea_core.simplex.polytope.region import ROW_SLACK

NAMES = tuple("abcdef")
WIDTHS = [1e-3, 1e-6, 1e-8, 1e-9, 1e-11, 1e-13]


def thin(width, rows=()):
    """Three sources share `width`, one is fixed at 1e-9, one has the rest, one has none."""
    rest = 1.0 - width - 1e-9
    floors, caps = {"d": rest, "e": 1e-9}, {"d": rest, "e": 1e-9}
    return Region.of(NAMES, floors, caps, exclude=("f",), rows=rows)


@pytest.mark.parametrize("width", [*WIDTHS, 1e-15])
def test_a_row_that_changes_nothing_leaves_the_centre_of_a_thin_region(width):
    idle = thin(width, (Row({"a": 1.0, "b": -1.0}, -5.0, 5.0),))
    np.testing.assert_allclose(idle.centre, thin(width).centre, atol=1e-16)
    assert idle.dimension == 2


@pytest.mark.parametrize("width", WIDTHS)
def test_a_row_cuts_a_thin_region_as_it_cuts_a_wide_one(width):
    rows = (Row({"a": 1.0, "b": -1.0}, at_most=0.0), Row({"c": 1.0, "b": -1.0}, at_most=0.0))
    narrow = thin(width, rows)
    # The slice a + b + c = 1 under a <= b and c <= b: its largest ball touches a >= 0, c >= 0 and both rows.
    wide = Region.of("abc", rows=rows)
    rounding = 1e-16 / width
    np.testing.assert_allclose(narrow.chebyshev().radius / width, wide.chebyshev().radius, rtol=1e-6 + 10 * rounding)
    got = narrow.chebyshev().centre[:3]
    assert max(got[0], got[2]) <= got[1] + ROW_SLACK
    assert got[0] == pytest.approx(got[2], abs=1e-6 * width + 4e-16)


@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-8])
def test_the_vertex_of_a_thin_region_is_the_best_it_has(width):
    region = thin(width, (Row({"a": 1.0, "b": -1.0}, at_most=0.0),))
    got = region.vertex([3.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(got[:3] / width, [0.5, 0.5, 0.0], atol=1e-6 + 1e-16 / width)


@pytest.mark.parametrize("share", [0.0, 1e-17, 1e-16])
def test_rows_that_clash_by_rounding_alone_leave_a_point(share):
    width = 1e-8
    region = thin(width, (Row({"a": 1.0}, at_least=0.6 * width), Row({"b": 1.0}, at_least=0.4 * width + share)))
    assert region.contains(region.centre)
    np.testing.assert_allclose(region.centre[:3] / width, [0.6, 0.4, 0.0], atol=1e-6)


def test_two_of_three_sources_in_a_group_beside_an_idle_row_within_a_billionth():
    names = tuple(f"source-{i}" for i in range(4))
    bound = {"source-3": 0.999999999}
    plain = Region.of(names, bound, bound, groups=(Group(names[:1], 0.0, 1.0),))
    idle = plain.restrict(rows=(Row({"source-0": 1.0, "source-1": -1.0}, -5.0, 5.0),))
    np.testing.assert_allclose(idle.centre, plain.centre, atol=1e-16)


@pytest.mark.parametrize("toward", [0.0, None, 2.0])
def test_a_group_that_takes_all_room_but_a_unit_of_rounding_beside_an_idle_row(toward):
    names, group, small = tuple(f"source-{i}" for i in range(8)), 0.00011444091796875, 9.5367431640625e-07
    rest = 1.0 - group - 2 * small
    rest = rest if toward is None else np.nextafter(rest, toward)
    bounds = {"source-2": small, "source-3": small, "source-7": rest}
    plain = Region.of(names, bounds, bounds, groups=(Group([names[i] for i in (0, 1, 4, 5)], group, group),))
    idle = plain.restrict(rows=(Row({"source-0": 1.0, "source-1": -1.0}, -5.0, 5.0),))
    np.testing.assert_allclose(idle.centre, plain.centre, atol=1e-15)
