"""The noise trap: no shipped reward at its default gives pure noise 30 % of UCB1's pulls, loss followers apart."""

import numpy as np
import pytest
from noise_world import mean_share, observed

from andrea_plugins.rewards import ExcessLoss, GradientAlignment, HeldoutGain, Improvement, Loss, PredictionGain

NEEDS = {"heldout", "loss_after", "source_gradients"}


@pytest.mark.slow
def test_the_default_reward_gives_pure_noise_less_than_30_percent_over_20_seeds():
    assert mean_share(Improvement()) < 0.30


@pytest.mark.parametrize(
    "reward",
    [
        Improvement(),
        PredictionGain(),
        HeldoutGain(),
        GradientAlignment(),
        ExcessLoss(reference={"A": 3.0, "B": 2.0}),
    ],
    ids=lambda reward: type(reward).__name__,
)
def test_rewards_that_measure_learning_give_pure_noise_less_than_30_percent(reward):
    assert mean_share(reward, seeds=3) < 0.30


def test_a_reward_that_follows_the_loss_falls_for_noise_by_definition():
    assert mean_share(Loss(), seeds=2) > 0.70


@pytest.mark.slow
def test_andreas_form_parks_on_pure_noise():
    """Means near 400 make the bonus noise, so the first rewards decide: 14 seeds of 20 park on A, the published .70."""
    assert round(mean_share(Improvement(form="andrea"), 1.0), 2) == 0.70


def test_andreas_form_parks_on_pure_noise_for_a_bonus_of_its_size_too():
    assert mean_share(Improvement(form="andrea"), 100.0, seeds=3) > 0.95


def test_the_world_shows_the_same_losses_whatever_is_measured_besides():
    shown = [
        observed(1, np.array([3.0, 5.0]), 7, needs, np.random.default_rng(2), np.random.default_rng(3))
        for needs in (set(), NEEDS)
    ]

    assert shown[0].loss.tolist() == shown[1].loss.tolist()
    assert shown[0].gradients is None
    assert shown[1].loss_after[0, 0] < shown[1].loss[0, 0]
    assert shown[1].heldout.shape == (2,)
