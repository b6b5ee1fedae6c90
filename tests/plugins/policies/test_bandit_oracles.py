"""Bandits against MABWiser and river over random histories; needs the extra `oracles`, is skipped without."""

import numpy as np
import pytest

from andrea_core.testing.bandits import forced, opening
from andrea_plugins.policies import Exp3, Thompson, Ucb1
from andrea_plugins.policies.mixing import softmax

ARMS = ("a", "b", "c", "d")
SEEDS = range(12)


def history_of(seed, coins=False):
    """Every arm once, then 40 to 240 pulls at random, with rewards in [0, 1]."""
    rng = np.random.default_rng(seed)
    arms = [0, 1, 2, 3, *rng.integers(0, 4, rng.integers(40, 240)).tolist()]
    rewards = rng.random(len(arms)) ** 2
    if coins:
        rewards = (rewards > 0.3).astype(float)
    return list(zip(arms, rewards.tolist(), strict=True))


def mabwiser(policy_name, history, **settings):
    """MABWiser's learner after a history; its inner object holds what its public expectations only sample."""
    mab = pytest.importorskip("mabwiser.mab")
    model = mab.MAB(list(range(4)), getattr(mab.LearningPolicy, policy_name)(**settings))
    model.fit([arm for arm, _ in history], [reward for _, reward in history])
    return model._imp


@pytest.mark.parametrize("seed", SEEDS)
def test_ucb1_scores_are_mabwisers_with_alpha_one(seed):
    history = history_of(seed)
    theirs = mabwiser("UCB1", history, alpha=1).arm_to_expectation
    state, _ = forced(Ucb1(), history, ARMS)
    ours = Ucb1().propose(state, opening(ARMS), np.random.default_rng(0)).notes["score"]

    assert ours == pytest.approx([theirs[k] for k in range(4)], abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_thompson_counts_are_mabwisers(seed):
    history = history_of(seed, coins=True)
    theirs = mabwiser("ThompsonSampling", history)
    state, _ = forced(Thompson(family="beta", low=0.0, high=1.0), history, ARMS)

    assert (1 + state.reward).tolist() == [theirs.arm_to_success_count[k] for k in range(4)]
    assert (1 + state.pulls - state.reward).tolist() == [theirs.arm_to_fail_count[k] for k in range(4)]


@pytest.mark.parametrize("seed", SEEDS)
def test_softmax_over_mean_rewards_is_mabwisers_inner_expectation(seed):
    history = history_of(seed)
    theirs = mabwiser("Softmax", history, tau=0.3).arm_to_expectation
    state, _ = forced(Ucb1(), history, ARMS)

    assert softmax(state.mean / 0.3, np.ones(4, bool)) == pytest.approx([theirs[k] for k in range(4)], abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_exp3_probabilities_are_rivers(seed):
    bandit, history = pytest.importorskip("river.bandit"), history_of(seed)
    theirs = bandit.Exp3(gamma=0.1, seed=0)
    for arm, reward in history:
        theirs.pull(range(4))
        theirs.update(arm, reward)
    theirs.pull(range(4))
    _, ours = forced(Exp3(gamma=0.1, low=0.0, high=1.0), history, ARMS)

    assert ours == pytest.approx([theirs._probabilities[k] for k in range(4)], abs=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_ucb1_plays_rivers_arm(seed):
    """At every length of a history, the arm that river pulls is the vertex that ucb1 goes to."""
    bandit, history = pytest.importorskip("river.bandit"), history_of(seed)
    theirs, policy = bandit.UCB(delta=1.0, seed=0), Ucb1(step=1.0)
    for length, (arm, reward) in enumerate(history, start=1):
        theirs.update(arm, reward)
        if length >= 4 and length % 10 == 0:
            _, weights = forced(policy, history[:length], ARMS)
            assert theirs.pull(range(4)) == int(np.argmax(weights))


@pytest.mark.parametrize("seed", SEEDS)
def test_thompson_posteriors_are_rivers(seed):
    bandit, proba = pytest.importorskip("river.bandit"), pytest.importorskip("river.proba")
    history = history_of(seed, coins=True)
    theirs = bandit.ThompsonSampling(reward_obj=proba.Beta(1, 1), seed=0)
    for arm, reward in history:
        theirs.update(arm, bool(reward))
    state, _ = forced(Thompson(family="beta", low=0.0, high=1.0), history, ARMS)

    assert (1 + state.reward).tolist() == [theirs._rewards[k].alpha for k in range(4)]
    assert (1 + state.pulls - state.reward).tolist() == [theirs._rewards[k].beta for k in range(4)]
