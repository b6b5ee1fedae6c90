"""The policies that learn nothing: random, uniform, proportional, fixed."""

import numpy as np
import pytest

from andrea_core import Region, ScenarioError
from andrea_core.testing.worlds import make_moment, make_sources
from andrea_plugins.policies import Fixed, Proportional, Random, Uniform
from andrea_plugins.policies.proportional import tempered

FREE = Region.of(("H", "G", "D"), floors={"H": 0.5}, caps={"D": 0.25})
FACE = Region.of(("H", "G", "D"), exclude=("H",))


def propose(policy, region, seed=0):
    rng = np.random.default_rng(seed)
    sources = make_sources(region.names)
    moment = make_moment(sources, 0, region, region.centre, rng)
    return policy.propose(policy.start(sources), moment, rng)


def test_random_lands_uniformly_on_the_region_of_the_seed_lesson():
    draws = np.array([propose(Random(), FREE, seed) for seed in range(2000)])

    assert all(FREE.contains(w) for w in draws)
    # The quadrilateral is the triangle H >= .5 (area 4/16) without its corner D > .25 (area 1/16). On the part with
    # D <= .125 lies (4/16 - (3/8)^2) / (3/16) = 7/12 of it.
    part = np.mean(draws[:, 2] <= 0.125)
    assert abs(part - 7 / 12) < 5 * np.sqrt(7 / 12 * 5 / 12 / 2000)


def test_uniform_gives_every_active_source_the_same():
    assert propose(Uniform(), FREE).tolist() == [1 / 3, 1 / 3, 1 / 3]
    assert propose(Uniform(), FACE).tolist() == [0.0, 0.5, 0.5]


def test_proportional_with_temperature_two_gives_the_golden_weights():
    assert tempered(np.array([1e6, 1e5, 1e4]), 2.0) == pytest.approx([0.706101, 0.223289, 0.070610], abs=5e-7)


def test_proportional_follows_token_counts_of_the_active_sources():
    tokens = make_sources(FACE.names).tokens

    assert propose(Proportional(), FACE) == pytest.approx([0.0, *(tokens[1:] / tokens[1:].sum())])


@pytest.mark.parametrize(("temperature", "expected"), [(1e12, [1 / 3] * 3), (1e-300, [1.0, 0.0, 0.0])])
def test_extreme_temperatures_are_uniform_or_the_largest_source(temperature, expected):
    assert tempered(np.array([1e18, 1e5, 1.0]), temperature) == pytest.approx(expected)


def test_fixed_gives_the_tables_weights_and_0_to_sources_left_out():
    assert propose(Fixed({"G": 0.3, "H": 0.9}), FREE) == pytest.approx([0.75, 0.25, 0.0])


def test_fixed_drops_the_mass_of_excluded_sources_and_keeps_the_ratios():
    assert propose(Fixed({"H": 0.8, "G": 0.15, "D": 0.05}), FACE) == pytest.approx([0.0, 0.75, 0.25])


def test_fixed_stops_when_a_stage_leaves_nothing_of_its_table():
    with pytest.raises(ScenarioError, match=r"stage 'trial 0' excludes every source that has a weight \(H\); give"):
        propose(Fixed({"H": 1.0, "G": 0.0}), FACE)


def test_fixed_names_the_nearest_source_for_a_misspelt_one():
    with pytest.raises(
        ScenarioError, match="policy fixed, weights: no source is called 'hermes'; did you mean 'hermes3'"
    ):
        Fixed({"hermes": 1.0}).start(make_sources(("hermes3", "chat")))


@pytest.mark.parametrize("weights", [{}, {"a": 0.0}, {"a": -0.5}, {"a": 1.5}])
def test_fixed_refuses_tables_without_weight_or_out_of_bounds(weights):
    with pytest.raises(ValueError, match=r"more than 0|between 0 and 1"):
        Fixed(weights)
