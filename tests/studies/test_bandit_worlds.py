"""Bandits in the change-point world and in the noise trap, at full length: minutes."""

from itertools import pairwise

import pytest
from bandit_worlds import DEFAULTS, JUMPING, PUBLISHED, over_seeds, regret, share_of_noise

from andrea_plugins.policies import Exp3, Thompson, Ucb1
from andrea_plugins.rewards import Improvement

pytestmark = pytest.mark.study


@pytest.fixture(scope="module")
def regrets():
    return {name: over_seeds(regret, name, seeds=40) for name in JUMPING}


@pytest.mark.parametrize("name", PUBLISHED)
def test_each_published_regret_is_met_within_three_standard_errors(regrets, name):
    (mean, error), (published, theirs) = regrets[name], PUBLISHED[name]
    assert abs(mean - published) < 3 * (error**2 + theirs**2) ** 0.5


def test_the_order_of_the_published_regrets_is_met(regrets):
    assert all(regrets[worse][0] > regrets[better][0] for worse, better in pairwise(PUBLISHED))


def test_forgetting_pays_where_rewards_jump(regrets):
    assert regrets["discounted_ucb, .9975"][0] < 0.75 * regrets["ucb1, c = sqrt(1/2)"][0]
    assert regrets["thompson, .9975"][0] < 0.75 * regrets["thompson"][0]


@pytest.mark.parametrize("name", DEFAULTS)
def test_pure_noise_gets_less_than_30_percent_of_a_defaults_pulls(name):
    mean, _ = over_seeds(share_of_noise, DEFAULTS[name], Improvement(), seeds=20)
    assert mean < 0.30


@pytest.mark.parametrize("policy", [Ucb1(c=100.0), Thompson(spread=100.0), Exp3(low=0.0, high=1000.0)], ids=repr)
def test_andreas_form_sends_every_family_to_the_noise(policy):
    mean, _ = over_seeds(share_of_noise, policy, Improvement(form="andrea"), seeds=8)
    assert mean > 0.70
