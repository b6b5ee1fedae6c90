"""The centre is the set's own: twins get equal weights, order does not matter, bounds that change nothing neither."""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from andrea_core.simplex import Group, Region, Row
from andrea_core.simplex.polytope.region import ROW_SLACK
from andrea_core.testing.certificates import assert_member
from andrea_core.testing.grouped import grouped_regions, regions_with_rows

IDLE = Row({"source-0": 1.0, "source-1": -1.0}, -5.0, 5.0)


def restated(region, order):
    """The same region with its sources named in another order."""
    names = tuple(region.names[i] for i in order)
    bounds = region.stated
    floors = dict(zip(region.names, bounds.lower.tolist(), strict=True))
    caps = dict(zip(region.names, bounds.upper.tolist(), strict=True))
    groups = [Group(tuple(region.names[i] for i in g.members), g.at_least, g.at_most) for g in bounds.groups]
    rows = [
        Row({region.names[i]: c for i, c in zip(r.members, r.coefficients, strict=True)}, r.at_least, r.at_most)
        for r in bounds.rows
    ]
    return Region.of(names, floors, caps, groups=groups[::-1], rows=rows[::-1])


def test_exact_twins_under_rows_have_equal_shares():
    region = Region.of("abcdef", rows=(Row({"a": 1, "b": 1, "c": -2}, at_most=0.1), Row({"f": 1}, at_most=0.02)))
    centre = region.centre
    assert centre[0] == pytest.approx(centre[1], abs=1e-9)
    assert centre[3] == pytest.approx(centre[4], abs=1e-9)


@settings(max_examples=60)
@given(regions_with_rows(), st.randoms(use_true_random=False))
def test_the_centre_under_rows_goes_with_the_names(region, random):
    assume(region.dimension > 0 and region.chebyshev().radius > 1e-6)
    order = list(range(len(region.names)))
    random.shuffle(order)
    other = restated(region, order)
    np.testing.assert_allclose(other.centre, region.centre[order], atol=1e-7)
    assert_member(region, region.centre)


@settings(max_examples=60)
@given(regions_with_rows())
def test_a_row_that_changes_nothing_leaves_the_centre(region):
    assume(region.dimension > 0 and region.chebyshev().radius > 1e-6)
    idle = region.restrict(rows=(IDLE,), groups=(Group(region.names[:2], 0.0, 1.0),))
    np.testing.assert_allclose(idle.centre, region.centre, atol=1e-7)


@settings(max_examples=60)
@given(grouped_regions(min_sources=3), st.data())
def test_a_group_that_changes_nothing_leaves_the_centre_of_bounds(region, data):
    stated = region.stated
    floors = dict(zip(region.names, stated.lower.tolist(), strict=True))
    caps = dict(zip(region.names, stated.upper.tolist(), strict=True))
    plain = Region.of(region.names, floors, caps)
    cut = data.draw(st.integers(1, len(region.names)))
    idle = plain.restrict(groups=(Group(region.names[:cut], 0.0, 1.0),))
    np.testing.assert_allclose(idle.centre, plain.centre, atol=1e-14)
    np.testing.assert_allclose(plain.restrict(rows=(IDLE,)).centre, plain.centre, atol=1e-9)


@settings(max_examples=60)
@given(grouped_regions(min_sources=3), st.data())
def test_a_group_that_changes_nothing_leaves_the_centre_of_groups(region, data):
    named = {i for group in region.stated.groups for i in group.members}
    others = [name for i, name in enumerate(region.names) if i not in named]
    if others:
        cut = data.draw(st.integers(1, len(others)))
        idle = region.restrict(groups=(Group(tuple(others[:cut]), 0.0, 1.0),))
        np.testing.assert_allclose(idle.centre, region.centre, atol=1e-13)
    np.testing.assert_allclose(region.restrict(rows=(IDLE,)).centre, region.centre, atol=1e-8)


def test_a_row_beside_a_group_with_next_to_no_room_is_no_error():
    names = tuple(f"source-{i}" for i in range(8))
    region = Region.of(names, groups=(Group(names[:2], 1e-9, 1e-9),))
    np.testing.assert_allclose(region.restrict(rows=(IDLE,)).centre, region.centre, atol=1e-12)


@settings(max_examples=40)
@given(regions_with_rows())
def test_no_ball_is_larger_than_that_around_the_middle(region):
    assume(region.approximate)
    ball = region.chebyshev()
    assert region.offence(ball.centre) <= ROW_SLACK
    matrix, limits = region.known.rows.one_sided()
    tied = region.known.tied
    room = (limits - matrix @ ball.centre)[~tied]
    reach = np.linalg.norm(matrix @ region.known.basis, axis=1)[~tied]
    assert (room >= ball.radius * reach - 1e-9).all()
