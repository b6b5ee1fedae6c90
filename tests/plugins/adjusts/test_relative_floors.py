"""The adjustment relative_floors: ANDREA's floor rule."""

import numpy as np
import pytest

from andrea_core import Region, ScenarioError
from andrea_core.testing.worlds import make_moment, make_sources
from andrea_plugins.adjusts import RelativeFloors

NAMES = ("hermes3-general", "chat", "dictionary", "gutenberg")
FLOORS = {"hermes3-general": 0.8, "chat": 0.8, "dictionary": 0.7, "gutenberg": 0.7}


def adjusted(floors, wish, exclude=()):
    region = Region.of(NAMES, exclude=exclude)
    moment = make_moment(make_sources(NAMES), 0, region, region.centre, np.random.default_rng(0))
    return RelativeFloors(floors).adjust(np.array(wish), moment)


def test_andreas_example_floors_raise_every_weight_and_are_normalised():
    assert adjusted(FLOORS, [0.3, 0.3, 0.3, 0.1]) == pytest.approx(np.array([0.8, 0.8, 0.7, 0.7]) / 3.0)


def test_a_weight_above_its_floor_keeps_its_relative_size():
    assert adjusted({"chat": 0.2}, [0.7, 0.1, 0.1, 0.1]) == pytest.approx(np.array([0.7, 0.2, 0.1, 0.1]) / 1.1)


def test_an_excluded_source_is_not_raised():
    assert adjusted(FLOORS, [0.5, 0.5, 0.0, 0.0], exclude=("dictionary", "gutenberg")).tolist() == [0.5, 0.5, 0.0, 0.0]


def test_no_floors_change_nothing():
    assert adjusted({}, [0.5, 0.25, 0.25, 0.0]).tolist() == [0.5, 0.25, 0.25, 0.0]


def test_a_misspelt_source_is_named():
    with pytest.raises(
        ScenarioError, match="relative_floors, floors: no source is called 'chatt'; did you mean 'chat'"
    ):
        adjusted({"chatt": 0.5}, [0.25] * 4)
