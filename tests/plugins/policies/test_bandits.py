"""The bandits: contract, bounded numbers, mixed phases, excluded sources, missing rewards."""

import attrs
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from andrea_core import Moment, Region
from andrea_core.testing import check_policy
from andrea_core.testing.bandits import draw, forced, landing, opening, paying
from andrea_core.testing.strategies import moments, outcomes
from andrea_plugins.policies import (
    DiscountedUcb,
    Exp3,
    Exp3Ix,
    Exp3S,
    SlidingWindowUcb,
    Temperature,
    Thompson,
    TsallisInf,
    Ucb1,
    UniMax,
)
from andrea_plugins.policies.estimates import importance, log_total

INDEX = [Ucb1(), DiscountedUcb(), SlidingWindowUcb(window=3), Thompson(), Thompson(family="beta", discount=0.9)]
WEIGHING = [Exp3(), Exp3(gamma=1e-6), Exp3S(), Exp3Ix(), TsallisInf(), TsallisInf(estimator="iw")]
BANDITS = INDEX + WEIGHING
SIZED = [Temperature(), UniMax(budget=5e4)]
HOSTILE = (1e300, -1e300, 1.7e308, -1.7e308, 1e-300, 0.0)


@pytest.mark.parametrize("policy", BANDITS + SIZED, ids=repr)
@pytest.mark.parametrize("count", [1, 2, 7])
def test_every_policy_keeps_the_contract_under_hostile_rewards(policy, count):
    check_policy(policy, [f"s{k}" for k in range(count)], seed=count)


@pytest.mark.parametrize("policy", BANDITS, ids=repr)
@settings(max_examples=15)
@given(data=st.data())
def test_any_outcomes_lead_to_finite_weights_in_any_region(policy, data):
    moment = data.draw(moments())
    state = policy.start(moment.sources)
    for phase in range(data.draw(st.integers(0, 4))):
        state = policy.update(state, data.draw(outcomes(moment.weights, phase)))
        moment = data.draw(moments(moment.region, phase + 1))
    weights = landing(policy, state, moment, np.random.default_rng(0))

    assert moment.region.contains(weights)


@pytest.mark.parametrize("policy", BANDITS + SIZED, ids=repr)
def test_ten_thousand_sources_give_weights_that_land(policy):
    names = [f"s{k}" for k in range(10_000)]
    history = [(k * 37 % 10_000, HOSTILE[k % len(HOSTILE)]) for k in range(12)]
    _, weights = forced(policy, history, names)

    assert opening(names).region.contains(weights)


@pytest.mark.parametrize("policy", WEIGHING, ids=repr)
def test_a_long_streak_of_the_best_reward_stays_finite_and_moves_the_weights(policy):
    state, weights = forced(policy, [(0, 1e300)] * 3000 + [(1, -1e300)] * 20, ("a", "b"))

    assert np.isfinite(state.values).all()
    assert weights[0] > 0.5


@pytest.mark.parametrize("policy", WEIGHING, ids=repr)
def test_renaming_the_sources_renames_the_weights(policy):
    rng, order = np.random.default_rng(4), np.array([2, 0, 3, 1])
    history = [(int(k), float(r)) for k, r in zip(rng.integers(0, 4, 60), rng.normal(size=60), strict=True)]
    _, weights = forced(policy, history, "abcd")
    _, renamed = forced(policy, [(int(order[k]), r) for k, r in history], "abcd")

    assert renamed[order] == pytest.approx(weights, rel=1e-9)


def mixed_outcome(weights, share, reward, seen=None):
    blank = paying(np.zeros((1, len(share))))(0, 0, np.array(weights))
    seen = np.array(share) > 0 if seen is None else np.array(seen)
    return attrs.evolve(blank, share=np.array(share), reward=np.where(seen, reward, 0.0), seen=seen)


def test_the_estimate_of_a_mixed_phase_is_unbiased_however_many_rows_it_has():
    weights, reward = np.array([0.7, 0.25, 0.05]), np.array([0.2, 0.9, 0.5])
    rng = np.random.default_rng(0)
    for rows in (1, 4):
        shares = rng.multinomial(rows, weights, 40_000) / rows
        estimates = [importance(mixed_outcome(weights, share, reward)) * reward for share in shares]
        error = np.std(estimates, 0) / 200
        assert (abs(np.mean(estimates, 0) - reward) < 5 * error).all()


def test_a_phase_in_exact_proportion_is_full_information():
    weights = [0.5, 0.3, 0.2]
    assert importance(mixed_outcome(weights, weights, [1.0, 1.0, 1.0])).tolist() == [1.0, 1.0, 1.0]


def test_the_importance_weight_uses_the_landed_probability():
    """A floor holds a at .8 where EXP3 proposes 1/3: a reward of a then counts 1/.8 times, not 3 times."""
    policy = Exp3(gamma=0.3, low=0.0, high=1.0)
    state = policy.update(
        policy.start(opening("abc").sources), mixed_outcome([0.8, 0.1, 0.1], [1.0, 0, 0], [1.0, 0, 0])
    )

    assert state.values[0] - state.values[1] == pytest.approx(0.1 / 0.8)


def test_a_landed_probability_under_the_exploration_share_never_makes_an_exponent_above_1():
    policy = Exp3(gamma=0.3, low=0.0, high=1.0)
    outcome = mixed_outcome([1 - 1e-300, 1e-300, 0.0], [0.0, 1.0, 0.0], [0, 1.0, 0])
    state = policy.update(policy.start(opening("abc").sources), outcome)

    assert state.values[1] - state.values[0] == pytest.approx(1.0)


def barred(weights):
    """The moment at which c is excluded."""
    region = Region.of(("a", "b", "c"), exclude=("c",))
    first = opening("abc")
    return Moment(9, 9, "barred", first.sources, region, np.array(weights), first.ledger)


@pytest.mark.parametrize("policy", [Exp3(), Exp3S(), Exp3Ix(), TsallisInf()], ids=repr)
def test_a_source_that_was_excluded_for_a_while_returns_with_the_standing_it_had(policy):
    """c is best, then barred for 200 phases in which a and b earn alike: it returns as best, not as the only one."""
    state, before = forced(policy, [(0, 0.0), (1, 0.0), (2, 1.0)] * 20, "abc")
    moment = barred([0.5, 0.5, 0.0])
    for phase in range(200):
        weights = landing(policy, state, moment, np.random.default_rng(phase))
        assert weights[2] == 0.0
        state = policy.update(state, mixed_outcome(weights, weights, [0.2, 0.2, 0.0]))
    after = landing(policy, state, opening("abc"), np.random.default_rng(0))

    assert before[2] > 1.1 * before[0]
    assert after[2] == after.max()
    assert after[2] <= before[2] + 0.02


@pytest.mark.parametrize("policy", [Exp3(), Exp3S()], ids=repr)
def test_the_total_weight_never_changes_so_a_barred_source_keeps_its_part(policy):
    state, _ = forced(policy, [(0, 0.0), (1, 0.4), (2, 1.0)] * 20, "abc")
    part = state.values[2] - log_total(state.values)
    state = policy.update(state, mixed_outcome([0.6, 0.4, 0.0], [0.5, 0.5, 0.0], [1.0, -1.0, 0.0]))

    assert log_total(state.values) == pytest.approx(np.log(3))
    assert state.values[2] - log_total(state.values) == pytest.approx(part)


@pytest.mark.parametrize("policy", [Ucb1(), DiscountedUcb(), Thompson(discount=0.99)], ids=repr)
def test_index_policies_keep_the_mean_of_a_source_that_is_not_seen(policy):
    """The sum and the pulls of Thompson decay alike too; the prior pulls its mean to 0 the more."""
    state, _ = forced(policy, [(2, 0.6)] * 5 + [(0, 0.1)] * 400, "abc")
    assert state.mean[2] == pytest.approx(0.6)


def test_a_source_that_left_the_window_counts_as_never_pulled():
    policy = SlidingWindowUcb(window=50)
    state, _ = forced(policy, [(2, 0.6), (1, 0.3)] + [(0, 0.9)] * 49, "abc")
    score = policy.propose(state, opening("abc"), np.random.default_rng(0)).notes["score"]

    assert np.isinf(score).tolist() == [False, False, True]


@pytest.mark.parametrize("policy", WEIGHING, ids=repr)
def test_a_draw_without_a_known_reward_counts_as_the_middle_of_the_range(policy):
    state, weights = forced(policy, [(0, 0.5), (1, -0.5)], "abc")
    unknown = policy.update(state, mixed_outcome(weights, [0, 0, 1.0], [0, 0, 0], [False] * 3))
    middle = policy.update(state, mixed_outcome(weights, [0, 0, 1.0], [0, 0, 0.0]))

    assert unknown.values.tolist() == middle.values.tolist()


def test_thompson_counts_a_pull_without_a_reward_as_half_a_success():
    policy = Thompson(family="beta")
    state = policy.start(opening("abc").sources)
    for _ in range(400):
        state = policy.update(state, mixed_outcome([0, 0, 1.0], [0, 0, 1.0], [0, 0, 0], [False] * 3))
    moment = opening("abc")
    draws = [policy.propose(state, moment, np.random.default_rng(s)).notes["score"][2] for s in range(200)]

    assert np.mean(draws) == pytest.approx(0.5, abs=0.01)
    assert np.std(draws) < 0.04


@pytest.mark.parametrize("kind", [Exp3, Exp3S, Exp3Ix, TsallisInf, Thompson])
def test_a_range_the_wrong_way_round_is_refused(kind):
    with pytest.raises(ValueError, match="low must be less than high, got low = 1 and high = 1"):
        kind(low=1.0, high=1.0)


def test_a_drawn_source_always_has_weight():
    weights = np.array([0.0, 0.5, 0.5 - 1e-17, 0.0])
    assert [draw(weights, chance) for chance in (0.0, 0.49, 0.5, 1 - 1e-16)] == [1, 1, 2, 2]
