"""Regions with rows that are thinner than the tolerances of linear programs keep their shape, down to rounding."""

import numpy as np
import pytest

from andrea_core.errors import InfeasibleRegion
from andrea_core.simplex import Group, Region, Row
from andrea_core.simplex.polytope.region import ROW_SLACK

NAMES = tuple("abcdef")
WIDTHS = [1e-3, 1e-6, 1e-8, 1e-9, 1e-11]


def thin(width, rows=()):
    """Three sources share `width`, one is fixed at 1e-9, one has the rest, one has none."""
    rest = 1.0 - width - 1e-9
    floors, caps = {"d": rest, "e": 1e-9}, {"d": rest, "e": 1e-9}
    return Region.of(NAMES, floors, caps, exclude=("f",), rows=rows)


@pytest.mark.parametrize("width", [*WIDTHS, 1e-13, 1e-15])
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


def test_rows_that_cut_nothing_off_leave_all_exact():
    plain = Region.of("abcd", {"a": 0.2}, {"b": 2e-9}, groups=(Group(("b", "c"), 0.1, 0.6),))
    idle = plain.restrict(rows=(Row({"a": 1.0, "b": 1.0}, 0.0, 2.0), Row({"c": 3.0, "d": -1.0}, at_least=-1.0)))
    assert not idle.approximate
    assert idle.dimension == plain.dimension == 3
    assert len(idle.stated.rows) == 2
    v = np.array([0.3, 0.9, -0.2, 0.1])
    assert idle.project(v).tobytes() == plain.project(v).tobytes()
    assert idle.restrict(rows=(Row({"a": 1.0}, at_most=0.3),)).approximate


def test_the_largest_numbers_are_projected_under_rows_without_a_warning():
    region = Region.of("abcd", rows=(Row({"a": 1.0, "b": -1.0}, at_most=0.0),))
    np.testing.assert_allclose(
        region.project([1.7e308, 1.7e308, -1.7e308, 1.7e308]), [1 / 3, 1 / 3, 0, 1 / 3], atol=1e-9
    )


def test_vertices_of_bounds_that_are_units_of_rounding_apart_are_legal():
    base = [0.0876783122345, 0.07238738837372, 0.0544279834321, 0.0811822200638, 0.1139265481791, 0.0477898744733]
    base += [0.1043766859320, 0.1231952624509, 0.0513053940346, 0.0548448505279, 0.1469782372616]
    base.append(1.0 - sum(base) - 4e-15)
    names = tuple(f"s{i}" for i in range(12))
    widths = [1.5e-15, 1.8e-15, 3e-16, 1.4e-15, 9e-16, 2e-15, 9e-16, 3e-16, 9e-16, 1e-15, 1.2e-15, 5e-16]
    caps = {name: low + width for name, low, width in zip(names, base, widths, strict=True)}
    region = Region.of(names, dict(zip(names, base, strict=True)), caps)
    assert all(region.contains(w) for w in region.vertices(2000))


def test_a_group_of_all_beside_rows_changes_nothing():
    rows = (Row({"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}, at_most=1.0),)
    region = Region.of("abcd", groups=(Group(("a", "b"), 0.0, 0.87),), rows=rows)
    idle = region.restrict(groups=(Group(tuple("abcd"), 0.0, 1.0),))
    assert not idle.approximate
    assert idle.centre.tobytes() == region.centre.tobytes()


def test_a_row_that_the_sum_decides_does_not_move_the_middle():
    rows = (Row({"a": 1e-3, "b": 0.0, "c": 1e-4, "d": 1.0}, at_most=0.07),)
    region = Region.of("abcde", rows=rows)
    idle = region.restrict(groups=(Group(tuple("abcde"), 0.0, 1.0), Group(("a", "b"), 0.0, 1.0)))
    np.testing.assert_allclose(idle.centre, region.centre, atol=1e-8)


def test_one_row_that_no_weights_meet_is_told_alone_with_what_it_lacks():
    with pytest.raises(InfeasibleRegion, match=r"cannot be met by weights that sum to 1.*relax it by 0\.2 in total"):
        Region.of("abc", rows=(Row({"a": 1.0, "b": 1.0}, at_least=1.2), Row({"c": 2.0}, at_most=0.9)))
