"""What a region remembers of its cuts never lets through what it would refuse."""

import pytest

from andrea_core.errors import ScenarioError
from andrea_core.simplex import Region


def test_a_truth_value_is_refused_also_after_an_equal_number():
    region = Region.of("ab")
    assert region.restrict({"a": 1.0}) is region.restrict({"a": 1.0})
    with pytest.raises((ScenarioError, ValueError)):
        region.restrict({"a": True})
