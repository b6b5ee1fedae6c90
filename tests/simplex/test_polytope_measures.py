"""Volume and moments of regions with rows: estimates that hold the exact values of groups, and say what they are."""

import math

import numpy as np
import pytest

from andrea_core.simplex import Group, Region, Row
from andrea_core.testing.certificates import assert_member


def both(names, group, floors=None):
    rows = Region.of(names, floors, rows=(Row(dict.fromkeys(group.sources, 1.0), group.at_least, group.at_most),))
    return rows, Region.of(names, floors, groups=(group,))


@pytest.mark.parametrize(
    ("group", "method"),
    [(Group(("a", "b"), 0.3, 0.5), "rejection"), (Group(("a", "b"), at_least=0.98), "hit-and-run")],
)
def test_the_estimate_holds_the_exact_values_of_the_same_group(group, method):
    rows, exact = both("abcde", group, {"c": 0.01 if method == "rejection" else 0.0})
    assert rows.sampler.method == method
    found = rows.log_volume_fraction()
    assert (found.method, found.approximate, found.dimension) == ("draws", True, 4)
    assert abs(found.value - exact.log_volume_fraction().value) < 5 * found.error
    assert found.error < (0.01 if method == "rejection" else 0.4)
    mean, covariance = rows.mean_estimate(), rows.covariance_estimate()
    assert mean.approximate
    assert covariance.approximate
    assert (np.abs(mean.value - exact.mean()) <= 5 * mean.error + 1e-12).all()
    assert (np.abs(covariance.value - exact.covariance()) <= 6 * covariance.error + 1e-12).all()
    assert_member(rows, mean.value)


def test_rows_of_equality_take_a_share_of_what_they_leave():
    """With a = b on the simplex of four, capping c at a half cuts a quarter off the triangle."""
    found = Region.of("abcd", {}, {"c": 0.5}, rows=(Row({"a": 1, "b": -1}, 0, 0),)).log_volume_fraction()
    assert found.dimension == 2
    assert abs(found.value - math.log(0.75)) < 5 * found.error < 0.2


def test_a_point_is_all_of_its_simplex():
    region = Region.of("abc", {"c": 0.2}, rows=(Row({"a": 1, "b": -1}, 0, 0), Row({"c": 1}, at_most=0.2)))
    assert region.dimension == 0
    assert region.log_volume_fraction().value == 0.0
    assert not region.mean_estimate().approximate
    assert not region.covariance().any()


def test_groups_beside_a_row_count_in_the_volume():
    """Where a + b = s, a <= 2 b holds on two thirds of the segment, whatever s: a share of 2/3 of the groups' own."""
    grouped = Region.of("abcd", groups=(Group(("a", "b"), at_least=0.7),))
    found = grouped.restrict(rows=(Row({"a": 1, "b": -2}, at_most=0),)).log_volume_fraction()
    exact = grouped.log_volume_fraction().value + math.log(2 / 3)
    assert abs(found.value - exact) < 5 * found.error < 0.02
