"""Bad input to a region is one clear error, the same for bounds, groups and rows; huge input is no error at all."""

import numpy as np
import pytest

from andrea_core import ScenarioError
from andrea_core.simplex import Group, Region, Row

NAMES = tuple("abc")
REGIONS = {
    "box": Region.of(NAMES, {"a": 0.1}),
    "groups": Region.of(NAMES, groups=(Group(("a", "b"), 0.2, 0.6),)),
    "rows": Region.of(NAMES, rows=(Row({"a": 1, "b": -2}, at_most=0),)),
}
each = pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS)


@each
@pytest.mark.parametrize("method", ["active", "face_dimension", "distance_to_nearest_vertex"])
def test_a_batch_where_one_vector_is_meant_is_refused(region, method):
    with pytest.raises(ValueError, match=r"expected one weight vector of shape \(3,\), got shape \(2, 3\)"):
        getattr(region, method)(np.full((2, 3), 1 / 3))


@each
@pytest.mark.parametrize("method", ["project", "vertex", "contains", "check", "active", "face_dimension"])
@pytest.mark.parametrize("bad", [np.array([1j, 0, 0]), [1j, 0, 0], ["0.5", "0.5", "0"]], ids=["array", "list", "texts"])
def test_complex_numbers_and_texts_are_refused(region, method, bad):
    with pytest.raises(ValueError, match="expected real numbers"):
        getattr(region, method)(bad)


@each
def test_huge_weights_are_told_to_be_wrong(region):
    assert any("sum to inf" in text for text in region.check([1e308] * 3))
    assert region.offence(np.array([1e308] * 3)) > 1
    assert region.contains([1e308, -1e308, 1e308]) is False


@each
def test_contains_answers_with_a_plain_truth_value(region):
    assert region.contains(region.centre) is True
    assert region.contains(np.zeros(3)) is False


@each
def test_huge_scores_rank_as_others_do(region):
    np.testing.assert_array_equal(region.vertex([1e308, -1e308, 1.0]), region.vertex([1.0, -1.0, 0.0]))
    largest = np.finfo(float).max
    np.testing.assert_array_equal(region.vertex([largest, -largest, 1e300]), region.vertex([1.0, -1.0, 0.0]))


@each
def test_draws_need_a_generator_and_a_number_that_is_not_negative(region):
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        region.sample(np.random.default_rng(0), -1)
    with pytest.raises(TypeError, match="numpy Generator"):
        region.sample(0)
    assert region.sample(np.random.default_rng(0), 0).shape == (0, 3)


@pytest.mark.parametrize("value", ["0.5", True, np.True_, None, float("nan"), 1 + 0j])
def test_bounds_that_are_no_numbers_are_refused(value):
    with pytest.raises(ScenarioError, match="the floor of a must be"):
        Region.of(NAMES, {"a": value})
    with pytest.raises(ScenarioError, match="the group bound of a must be"):
        Region.of(NAMES, groups=(Group(("a",), value),))


@pytest.mark.parametrize("name", [1, "", None])
def test_names_are_texts_that_are_not_empty(name):
    with pytest.raises(ScenarioError, match="a source's name must be a text that is not empty"):
        Region.of(("a", name))


def test_groups_and_rows_must_be_such():
    with pytest.raises(ScenarioError, match=r"groups takes Group values, such as .*; got \('a', 'b'\)"):
        Region.of(NAMES, groups=[("a", "b")])
    with pytest.raises(ScenarioError, match="rows takes Row values"):
        Region.of(NAMES, rows=[{"a": 1}])


def test_vertices_under_rows_lie_on_their_bounds():
    region = Region.of("abcd", {"d": 0.1}, rows=(Row({"a": 1, "b": -2}, at_most=0), Row({"b": 1, "c": 1}, 0.3, 0.7)))
    found = region.vertices()
    assert not ((found > 0) & (found < 1e-9)).any()
    assert not ((found[:, 3] > 0.1) & (found[:, 3] < 0.1 + 1e-9)).any()
