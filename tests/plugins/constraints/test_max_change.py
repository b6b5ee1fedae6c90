"""The constraint set max_change: a box around the present weights."""

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core import AndreaError, Region
from andrea_core.testing import check_constraint_set
from andrea_core.testing.geometry import regions, weights
from andrea_core.testing.worlds import make_context, make_sources
from andrea_plugins.constraints import MaxChange


def around(region, now, delta):
    context = make_context(make_sources(region.names), 0, np.random.default_rng(0), now)
    return MaxChange(delta).restrict(region, context)


def test_the_box_is_cut_with_the_region():
    region = Region.of("abc", floors={"a": 0.45}, caps={"b": 0.3})
    box = around(region, np.array([0.5, 0.25, 0.25]), 0.1)

    assert box.stated.lower == pytest.approx([0.45, 0.15, 0.15])
    assert box.stated.upper == pytest.approx([0.6, 0.3, 0.35])
    assert box.upper_reasons[0] == "within 0.1 of the present weights"


def test_an_excluded_source_stays_excluded():
    region = Region.of("abc", exclude=("c",))

    assert around(region, np.array([0.5, 0.5, 0.0]), 0.1).upper[2] == 0.0


@given(data=st.data(), region=regions(), delta=st.floats(1e-12, 1.0))
def test_it_never_empties_the_region_and_keeps_the_present_weights_and_the_distance(data, region, delta):
    now = data.draw(weights(region))
    box = around(region, now, delta)

    assert box.contains(now)
    assert (box.lower >= region.lower).all()
    assert (box.upper <= region.upper).all()
    far = box.vertex(data.draw(st.permutations(range(len(now)))))
    assert np.abs(far - now).max() <= delta * (1 + 1e-9) + 1e-15


def test_without_weights_it_says_what_is_missing():
    context = make_context(make_sources("abc"), 0, np.random.default_rng(0))
    with pytest.raises(AndreaError, match="needs the present weights"):
        MaxChange(0.1).restrict(Region.of("abc"), attrs.evolve(context, weights=None))


def test_it_keeps_the_contract_of_constraint_sets():
    check_constraint_set(MaxChange(0.05))
    assert MaxChange(0.05).around_weights
