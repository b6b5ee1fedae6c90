"""The adjustment trust_region: no farther than delta in total variation."""

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from andrea_core import Region, total_variation
from andrea_core.simplex.groups.stated import Group
from andrea_core.testing import check_adjust
from andrea_core.testing.geometry import regions, weights
from andrea_core.testing.worlds import make_moment, make_sources
from andrea_plugins.adjusts import TrustRegion


def adjusted(region, now, wish, delta):
    moment = make_moment(make_sources(region.names), 0, region, now, np.random.default_rng(0))
    return TrustRegion(delta).adjust(wish, moment)


def test_a_near_wish_is_followed_as_it_is():
    wish = np.array([0.5, 0.3, 0.2])

    assert adjusted(Region.of("abc"), np.array([0.4, 0.4, 0.2]), wish, 0.1) is wish


def test_a_far_wish_is_followed_to_exactly_delta():
    point = adjusted(Region.of("abc"), np.array([0.25, 0.25, 0.5]), np.array([1.0, 0.0, 0.0]), 0.25)

    assert point == pytest.approx([0.5, 1 / 6, 1 / 3], abs=1e-16)


@st.composite
def wishes(draw, region):
    """Weights of the simplex, anywhere, with nothing on an excluded source."""
    sizes = draw(st.lists(st.floats(0, 1), min_size=len(region.names), max_size=len(region.names)))
    wish = np.where(region.upper > 0, sizes, 0.0)
    assume(wish.sum() > 1e-6)
    return wish / wish.sum()


@given(data=st.data(), region=regions(min_sources=2), delta=st.floats(1e-6, 1.0))
def test_the_point_lies_on_the_segment_at_the_smaller_of_delta_and_the_distance(data, region, delta):
    now, wish = data.draw(weights(region)), data.draw(wishes(region))
    point = adjusted(region, now, wish, delta)
    distance = total_variation(wish, now)

    assert total_variation(point, now) == pytest.approx(min(delta, distance), abs=1e-15)
    assert total_variation(point, wish) == pytest.approx(max(distance - delta, 0.0), abs=1e-15)
    assert (point[region.upper == 0] == 0).all()


@pytest.mark.parametrize("landing", ["euclidean", "kl"])
@given(data=st.data(), region=regions(min_sources=2), delta=st.floats(1e-6, 1.0))
def test_landing_takes_the_walk_no_farther(landing, data, region, delta):
    now, wish = data.draw(weights(region)), data.draw(wishes(region))
    landed = region.project(adjusted(region, now, wish, delta), landing)

    assert total_variation(landed, now) <= delta + 1e-14


@pytest.mark.parametrize("landing", ["euclidean", "kl"])
@given(data=st.data(), low=st.floats(0.0, 0.6), wide=st.floats(0.0, 0.4), delta=st.floats(1e-3, 1.0))
def test_bounds_on_sums_do_not_take_it_farther_either(landing, data, low, wide, delta):
    region = Region.of("abcde", caps={"a": 0.5, "c": 0.3}, groups=(Group(("a", "b"), low, low + wide),))
    now = region.sample(np.random.default_rng(data.draw(st.integers(0, 2**16))))
    landed = region.project(adjusted(region, now, data.draw(wishes(region)), delta), landing)

    assert total_variation(landed, now) <= delta + 1e-13


def test_with_bounds_on_sums_a_bare_projection_goes_too_far():
    region = Region.of("abcde", groups=(Group(("a", "b"), 0.6, 0.6),))
    now, wish = np.array([0.1, 0.5, 0.2, 0.1, 0.1]), np.array([0.1, 0.1, 0.2, 0.5, 0.1])

    assert total_variation(wish, now) == pytest.approx(0.4)
    assert total_variation(region.project(wish), now) == pytest.approx(0.45)
    assert total_variation(adjusted(region, now, wish, 0.4), now) == pytest.approx(0.4, abs=1e-15)


def test_it_keeps_the_contract_of_adjustments():
    for delta in (1e-6, 0.1, 1.0):
        check_adjust(TrustRegion(delta))
