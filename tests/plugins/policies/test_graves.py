"""Graves: EXP3.S by its equations, rewards rescaled by quantiles, and the even sample that these come from."""

import numpy as np
import pytest
from mixtures import phase, sources_of, target_of

from andrea_plugins.policies.graves import Graves, shared
from andrea_plugins.policies.reservoir import CAPACITY, Reservoir


def test_pulls_of_one_source_follow_the_papers_equations():
    policy, eta, beta, epsilon = Graves(eta=0.3, beta=0.2, epsilon=0.1), 0.3, 0.2, 0.1
    state = policy.start(sources_of(3))
    log_weights, rewards, rng = np.zeros(3), [], np.random.default_rng(0)
    for turn in range(2, 40):
        p = (1 - epsilon) * np.exp(log_weights) / np.exp(log_weights).sum() + epsilon / 3
        assert target_of(policy, state, 3) == pytest.approx(p, abs=1e-9)

        arm, reward = int(rng.integers(3)), float(rng.normal())
        rewards.append(reward)
        low, high = np.quantile(rewards, [0.2, 0.8])
        scaled = np.clip(2 * (reward - low) / (high - low) - 1, -1, 1) if high > low else np.sign(reward - low)
        v = log_weights + eta * (np.eye(3)[arm] * scaled + beta) / p
        others = np.exp(v).sum() - np.exp(v)
        log_weights = np.log((1 - 1 / turn) * np.exp(v) + 1 / turn / 2 * others)
        state = policy.update(state, pull(p, arm, reward))


def pull(p, arm, reward):
    """A phase that was drawn by p and turned out to be one source's alone."""
    said = phase(np.eye(len(p))[arm], reward=np.where(np.arange(len(p)) == arm, reward, np.nan))
    return type(said)(said.step, said.phase, p, said.share, said.reward, said.seen, said.loss, said.observation)


def test_sharing_keeps_the_sum_and_gives_to_each_of_the_others_alike():
    weights = np.exp(shared(np.log([0.7, 0.2, 0.1]), 0.3))

    assert weights / weights.sum() == pytest.approx([0.7 * 0.7 + 0.15 * 0.3, 0.7 * 0.2 + 0.15 * 0.8, 0.7 * 0.1 + 0.135])
    assert shared(np.zeros(1), 0.5).tolist() == [0.0]


def test_a_source_of_better_progress_gets_more():
    policy, rng = Graves(eta=0.3), np.random.default_rng(1)
    state = policy.start(sources_of(4))
    for number in range(300):
        weights = target_of(policy, state, 4)
        reward = rng.normal([0.0, 0.0, 1.0, 0.0], 0.5)
        state = policy.update(state, phase(weights, reward=reward, number=number))

    assert target_of(policy, state, 4)[2] > 0.5


def test_the_scale_of_rewards_does_not_matter():
    paths = []
    for scale in (1.0, 1e-6, 1e90):
        policy, rng = Graves(eta=0.1), np.random.default_rng(2)
        state = policy.start(sources_of(3))
        for number in range(30):
            reward = np.clip(scale * rng.normal([0.0, 1.0, 0.0]), -1e99, 1e99)
            state = policy.update(state, phase([0.3, 0.3, 0.4], reward=reward, number=number))
        paths.append(target_of(policy, state, 3))

    assert paths[1] == pytest.approx(paths[0], abs=1e-9)
    assert paths[2] == pytest.approx(paths[0], abs=1e-9)


def test_low_must_be_less_than_high():
    with pytest.raises(ValueError, match="low must be less than high"):
        Graves(low=0.8, high=0.2)


def test_a_reservoir_holds_everything_until_it_is_full_and_then_an_even_sample():
    reservoir, rng = Reservoir.empty(), np.random.default_rng(3)
    numbers = rng.normal(size=(1000, 7))
    for row in numbers:
        reservoir = reservoir.offer(row)
        assert reservoir.held <= CAPACITY
    everything = np.concatenate([np.sort(row) for row in numbers])

    assert reservoir.stride == 8
    assert reservoir.values[: reservoir.held].tolist() == everything[::8].tolist()
    few = Reservoir.empty().offer(np.array([3.0, 1.0]))
    assert few.values[: few.held].tolist() == [1.0, 3.0]


def test_rescaling_maps_the_quantiles_to_the_ends_and_clips():
    reservoir = Reservoir.empty().offer(np.arange(101.0))
    mapped = reservoir.rescaled(np.array([20.0, 50.0, 80.0, -1e100, 1e100]), 0.2, 0.8)

    assert mapped == pytest.approx([-1.0, 0.0, 1.0, -1.0, 1.0])
    same = Reservoir.empty().offer(np.ones(5))
    assert same.rescaled(np.array([0.5, 1.0, 2.0]), 0.2, 0.8).tolist() == [-1.0, 0.0, 1.0]
    assert Reservoir.empty().rescaled(np.ones(2), 0.2, 0.8).tolist() == [0.0, 0.0]
