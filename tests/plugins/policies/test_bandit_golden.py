"""Bandits after known pulls: published and derived numbers, with one source a phase as in the papers."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from andrea_core.testing.bandits import forced, opening, paying, play
from andrea_core.testing.worlds import make_sources
from andrea_plugins.policies import DiscountedUcb, Exp3, Exp3Ix, Exp3S, SlidingWindowUcb, Thompson, TsallisInf, Ucb1
from andrea_plugins.policies.tsallis_inf import distribution

ARMS = ("a", "b", "c")
THREE = [(0, 0.5), (1, 0.25), (2, 0.9)]
TWENTY = [(0, 0.5), (1, 0.25), (2, 0.9), (0, 0.4), (2, 0.8)] * 4
GOLDEN = pytest.approx
UNIT = {"low": 0.0, "high": 1.0}


def scores_after(policy, history):
    state, _ = forced(policy, history, ARMS)
    return policy.propose(state, opening(ARMS), np.random.default_rng(0)).notes["score"]


def weights_after(policy, history):
    return forced(policy, history, ARMS)[1]


def test_exp3_after_three_pulls():
    assert weights_after(Exp3(gamma=0.1, **UNIT), THREE) == GOLDEN([0.331479, 0.324230, 0.344291], abs=1e-6)


def test_exp3_after_the_twenty_pulls():
    assert weights_after(Exp3(gamma=0.1, **UNIT), TWENTY) == GOLDEN([0.325856, 0.260643, 0.413502], abs=1e-6)


def test_ucb1_scores_after_the_twenty_pulls():
    assert scores_after(Ucb1(), TWENTY) == GOLDEN([1.315409, 1.473873, 1.715409], abs=1e-6)


def test_discounted_ucb_scores_after_the_twenty_pulls():
    policy = DiscountedUcb(c=0.5**0.5, discount=0.99)
    assert scores_after(policy, TWENTY) == GOLDEN([0.896692, 0.884412, 1.293597], abs=1e-6)


def test_sliding_window_ucb_scores_after_the_twenty_pulls():
    policy = SlidingWindowUcb(c=1.0, window=1000)
    assert scores_after(policy, TWENTY) == GOLDEN([1.061937, 1.115409, 1.461937], abs=1e-6)


def test_sliding_window_ucb_counts_the_last_pulls_only():
    """The last 7 pulls: a .5 .4, b .25, c .9 .8 .4th ... written out below; t and tau meet in ln 7."""
    last = TWENTY[-7:]
    assert last == [(0, 0.4), (2, 0.8), (0, 0.5), (1, 0.25), (2, 0.9), (0, 0.4), (2, 0.8)]
    mean, pulls = np.array([1.3 / 3, 0.25, 2.5 / 3]), np.array([3, 1, 3])
    expected = mean + np.sqrt(0.5 * np.log(7) / pulls)

    assert scores_after(SlidingWindowUcb(window=7), TWENTY) == GOLDEN(expected.tolist(), abs=1e-12)


def direct_exp3s(gamma, alpha, history):
    """EXP3.S as printed, weights and all: w_i exp(gamma x / (K p_i)) + e alpha / K sum w, on plain numbers."""
    weights = np.ones(3)
    for arm, reward in history:
        p = (1 - gamma) * weights / weights.sum() + gamma / 3
        total, estimate = weights.sum(), np.zeros(3)
        estimate[arm] = reward / p[arm]
        weights = weights * np.exp(gamma * estimate / 3) + np.e * alpha / 3 * total
    return (1 - gamma) * weights / weights.sum() + gamma / 3


@pytest.mark.parametrize(("gamma", "alpha"), [(0.1, 0.001), (0.3, 0.1), (1.0, 0.5)])
def test_exp3s_is_the_printed_rule(gamma, alpha):
    answer = weights_after(Exp3S(gamma=gamma, alpha=alpha, **UNIT), TWENTY)
    assert answer == GOLDEN(direct_exp3s(gamma, alpha, TWENTY).tolist(), abs=1e-12)


def direct_exp3ix(history):
    losses = np.zeros(3)
    for t, (arm, reward) in enumerate(history, start=1):
        eta = np.sqrt(np.log(3) / (3 * t))
        p = np.exp(-eta * losses) / np.exp(-eta * losses).sum()
        losses[arm] += (1 - reward) / (p[arm] + eta / 2)
    eta = np.sqrt(np.log(3) / (3 * (len(history) + 1)))
    return np.exp(-eta * losses) / np.exp(-eta * losses).sum()


@pytest.mark.parametrize("length", [1, 3, 20])
def test_exp3ix_is_the_printed_rule(length):
    answer = weights_after(Exp3Ix(**UNIT), TWENTY[:length])
    assert answer == GOLDEN(direct_exp3ix(TWENTY[:length]).tolist(), abs=1e-12)


def regularised_leader(losses, eta):
    """argmin <w, L> - 4/eta sum (sqrt w - w/2): the w = 4 / (eta (L - x))^2 whose x a bracketing solver finds."""

    def weights(x):
        return 4 / (eta * (losses - x)) ** 2

    low, high = losses.min() - 2 * 3**0.5 / eta, losses.min() - 2 / eta
    return weights(brentq(lambda x: weights(x).sum() - 1, low - 1e-9, high + 1e-9, xtol=1e-15, rtol=1e-15))


@pytest.mark.parametrize("estimator", ["iw", "rv"])
def test_tsallis_inf_is_the_regularised_leader_of_the_printed_estimates(estimator):
    losses, factor = np.zeros(3), {"iw": 2.0, "rv": 4.0}[estimator]
    for t, (arm, reward) in enumerate(TWENTY, start=1):
        eta = factor / np.sqrt(t)
        p = regularised_leader(losses, eta)
        base = np.where(p >= eta**2, 0.5, 0.0) * (estimator == "rv")
        losses += base
        losses[arm] += (1 - reward - base[arm]) / p[arm]
    expected = regularised_leader(losses, factor / np.sqrt(len(TWENTY) + 1))

    answer = weights_after(TsallisInf(estimator=estimator, **UNIT), TWENTY)
    assert answer == GOLDEN(expected.tolist(), abs=1e-9)


def test_the_tsallis_distribution_minimises_the_printed_objective():
    losses, eta = np.array([0.3, 1.0, 2.5]), 0.7

    def objective(free):
        w = np.append(free, 1 - free.sum())
        return w @ losses - 4 / eta * (np.sqrt(w) - w / 2).sum() if (w > 0).all() else np.inf

    found = minimize(objective, [1 / 3, 1 / 3], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14})
    expected = [*found.x, 1 - found.x.sum()]
    assert distribution(losses, eta) == GOLDEN(expected, abs=1e-6)


def test_thompson_beta_draws_from_the_posterior_of_the_counted_coins():
    policy = Thompson(family="beta", **UNIT)
    state, _ = forced(policy, [(0, 1.0), (0, 0.0), (0, 1.0), (1, 0.0), (2, 1.0)] * 3, ARMS)
    moment, rng = opening(ARMS), np.random.default_rng(1)
    draws = np.array([policy.propose(state, moment, rng).notes["score"] for _ in range(4000)])

    assert rng.bit_generator.state == after_beta([7, 1, 4], [4, 4, 1])
    assert draws.mean(0) == pytest.approx([7 / 11, 1 / 5, 4 / 5], abs=0.02)


def after_beta(successes, failures):
    """Return the generator's state after the same draws from Beta(S + 1, F + 1), S and F counted by hand."""
    rng = np.random.default_rng(1)
    for _ in range(4000):
        rng.beta(successes, failures)
    return rng.bit_generator.state


def test_thompson_gaussian_has_the_published_mean_and_variance():
    policy = Thompson(family="gaussian", spread=1.0)
    state, _ = forced(policy, TWENTY, ARMS)
    noise = np.random.default_rng(5).standard_normal(3)
    draw = policy.propose(state, opening(ARMS), np.random.default_rng(5)).notes["score"]

    pulls, total = np.array([8, 4, 8]), np.array([3.6, 1.0, 6.8])
    assert draw == GOLDEN((total / (pulls + 1) + noise / np.sqrt(pulls + 1)).tolist(), abs=1e-12)


def test_thompson_measures_the_size_of_rewards_by_default():
    policy, given = Thompson(), np.sqrt(np.mean([reward**2 for _, reward in TWENTY]))
    state, _ = forced(policy, TWENTY, ARMS)
    draws = [
        one.propose(forced(one, TWENTY, ARMS)[0], opening(ARMS), np.random.default_rng(5)).notes["score"]
        for one in (policy, Thompson(spread=float(given)))
    ]

    assert state.size == pytest.approx(given)
    assert draws[0] == pytest.approx(draws[1])
    assert policy.start(make_sources(ARMS)).size == 1.0


@pytest.mark.parametrize("scale", [1e-3, 1e3, -7.0])
def test_a_measured_spread_scales_with_the_rewards(scale):
    sizes = [forced(Thompson(discount=0.9), [(arm, k * r) for arm, r in TWENTY], ARMS)[0].size for k in (1.0, scale)]

    assert sizes[1] == pytest.approx(abs(scale) * sizes[0])


def test_thompson_tries_every_source_where_all_rewards_are_far_from_0():
    """The prior of the paper, N(0, 1), keeps a source that was never pulled under means of 5 for a long time."""
    pulls = {}
    for spread in (1.0, None):
        drawn = play(Thompson(spread=spread, step=1.0), paying(np.full((60, 3), 5.0)), ARMS, 60, 0)
        pulls[spread] = np.bincount(drawn, minlength=3)

    assert pulls[1.0].max() == 60
    assert pulls[None].min() > 5


def test_discounted_thompson_discounts_counts_but_not_the_prior():
    policy = Thompson(family="beta", discount=0.5, **UNIT)
    state, _ = forced(policy, [(0, 1.0), (0, 0.0), (1, 1.0)], ARMS)

    assert state.reward == GOLDEN([0.25, 1.0, 0.0])  # S: 1, then halved twice; 1
    assert state.pulls - state.reward == GOLDEN([0.5, 0.0, 0.0])  # F: 1, halved once


def test_the_rules_of_the_same_pulls_forget_in_the_order_of_their_memory():
    """After 60 good pulls of a and 20 bad ones, the older rewards weigh less in a shorter memory."""
    history = [(0, 1.0)] * 60 + [(0, 0.0)] * 20
    policies = [Ucb1(c=1e-9), DiscountedUcb(c=1e-9, discount=0.97), SlidingWindowUcb(c=1e-9, window=25)]
    first = [scores_after(policy, history)[0] for policy in policies]

    assert first == GOLDEN([0.75, sum(0.97**k for k in range(20, 80)) / sum(0.97**k for k in range(80)), 0.2], abs=1e-6)
    assert all(longer > shorter for longer, shorter in pairwise(first))
