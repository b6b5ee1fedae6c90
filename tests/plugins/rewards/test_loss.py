"""The reward loss: a phase's mean training loss a source."""

import numpy as np

from andrea_core import Observation
from andrea_plugins.rewards import Loss


def test_each_source_is_scored_by_its_token_weighted_mean_loss():
    observation = Observation(
        np.array([[20.0, 30.0], [10.0, 8.0]]),
        np.array([[10, 10], [10, 2]]),
        np.array([[0, 1], [0, 1]]),
        np.array([0.5, 0.3, 0.2]),
        2,
    )
    scores, state = Loss().score(None, observation, np.random.default_rng(0))

    assert scores[:2].tolist() == [30.0 / 20.0, 38.0 / 12.0]
    assert np.isnan(scores[2])
    assert state is None
