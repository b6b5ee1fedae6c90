"""Short games: forgetting pays where rewards jump, and learning beats noise; the studies play them at length."""

import numpy as np
import pytest
from bandit_worlds import DEFAULTS, regret, share_of_noise

from andrea_plugins.policies import Ucb1
from andrea_plugins.rewards import Improvement


def test_random_ucb1_and_sliding_window_come_in_that_order_where_rewards_jump():
    random, ucb1, window = (regret(name, 0) for name in ("random", "ucb1", "sliding_window_ucb, 1213"))

    assert random > 2 * ucb1
    assert ucb1 > 1.25 * window


@pytest.mark.parametrize("name", ["ucb1", "thompson", "exp3", "tsallis_inf"])
def test_pure_noise_gets_less_than_30_percent_of_a_defaults_pulls(name):
    assert np.mean([share_of_noise(DEFAULTS[name], Improvement(), seed) for seed in (0, 1)]) < 0.30


def test_andreas_form_sends_a_bandit_to_the_noise():
    assert share_of_noise(Ucb1(c=100.0), Improvement(form="andrea"), 0, pulls=1500) > 0.9
