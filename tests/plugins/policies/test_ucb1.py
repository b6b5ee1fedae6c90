"""UCB1: its scores, its step towards the vertex, and how it counts pulls."""

import numpy as np
import pytest

from andrea_core import Moment, Observation, Outcome, Region, Sources
from andrea_core.testing.worlds import draw_ledger
from andrea_plugins.policies.ucb1 import Tally, Ucb1, scores

TWENTY_PULLS = [(0, 0.5), (1, 0.25), (2, 0.9), (0, 0.4), (2, 0.8)] * 4


def outcome(share, reward, seen=None):
    share, reward = np.array(share, float), np.array(reward, float)
    seen = share > 0 if seen is None else np.array(seen)
    row = Observation(np.ones((1, 1)), np.ones((1, 1), np.int64), np.zeros((1, 1), np.int64), share, 1)
    return Outcome(1, 0, share, share, reward, seen, np.where(seen, 1.0, np.nan), row)


def moment(region, weights):
    sources = Sources(region.names, np.ones(len(region.names), np.int64))
    ledger = draw_ledger(len(sources), np.random.default_rng(0))
    return Moment(0, 0, "trial", sources, region, np.array(weights, float), ledger)


def after(pulls, policy=None):
    policy = policy or Ucb1()
    state = policy.start(Sources(("a", "b", "c"), np.ones(3, np.int64)))
    for arm, reward in pulls:
        state = policy.update(state, outcome(np.eye(3)[arm], reward * np.eye(3)[arm]))
    return state


def test_scores_after_the_twenty_pulls_are_the_golden_ones():
    assert scores(after(TWENTY_PULLS), 2**0.5) == pytest.approx([1.315409, 1.473873, 1.715409], abs=5e-7)


def test_a_source_that_was_never_pulled_comes_first():
    state = after([(0, 1e9), (2, 1e9)])
    proposal = Ucb1(step=1.0).propose(state, moment(Region.of(("a", "b", "c")), [1 / 3] * 3), np.random.default_rng(0))

    assert proposal.target.tolist() == [0.0, 1.0, 0.0]
    assert np.isposinf(proposal.notes["score"][1])


def test_the_target_is_a_step_of_the_way_from_the_weights_to_the_vertex():
    region = Region.of(("a", "b", "c"), floors={"a": 0.5}, caps={"c": 0.25})
    weights = np.array([0.6, 0.3, 0.1])
    proposal = Ucb1(step=0.25).propose(after(TWENTY_PULLS), moment(region, weights), np.random.default_rng(0))

    assert proposal.notes["vertex"].tolist() == [0.5, 0.25, 0.25]  # c has the best score but is capped, b comes next
    assert proposal.target == pytest.approx(0.75 * weights + 0.25 * np.array([0.5, 0.25, 0.25]))


def test_an_excluded_source_gets_nothing_and_its_score_is_not_a_number():
    region = Region.of(("a", "b", "c"), exclude=("c",))
    proposal = Ucb1().propose(after(TWENTY_PULLS), moment(region, [0.5, 0.5, 0.0]), np.random.default_rng(0))

    assert proposal.target[2] == 0.0
    assert np.isnan(proposal.notes["score"]).tolist() == [False, False, True]


def test_a_phase_is_one_pull_shared_by_the_sources_tokens():
    policy = Ucb1()
    state = policy.update(after([]), outcome([0.5, 0.25, 0.25], [1.0, 2.0, 4.0]))

    assert state.pulls.tolist() == [0.5, 0.25, 0.25]
    assert (state.reward / state.known).tolist() == [1.0, 2.0, 4.0]


def test_a_pull_without_a_known_reward_counts_as_a_pull_and_leaves_the_mean():
    policy = Ucb1()
    state = policy.update(after([(0, 2.0)]), outcome([1.0, 0.0, 0.0], [0.0, 0.0, 0.0], seen=[False] * 3))

    assert state.pulls[0] == 2.0
    assert scores(state, 1.0)[0] == pytest.approx(2.0 + np.sqrt(np.log(2.0) / 2.0))


def test_a_source_whose_reward_is_never_known_does_not_stay_first_for_ever():
    policy = Ucb1(step=1.0)
    state = after([(0, 1.0), (1, 1.0)])
    for _ in range(30):
        state = policy.update(state, outcome([0.0, 0.0, 1.0], [0.0] * 3, seen=[False] * 3))

    assert np.argmax(scores(state, policy.c)) != 2


@pytest.mark.parametrize("size", [1.7e308, -1.7e308, 1e-300])
def test_scores_of_extreme_rewards_are_never_nan(size):
    state = Tally(np.array([1e-300, 1.0, 3.0]), np.array([1e-300, 1.0, 3.0]), np.array([size, 0.0, 1.0]))

    assert not np.isnan(scores(state, 2**0.5)).any()


@pytest.mark.parametrize(("field", "value"), [("c", 0.0), ("step", 0.0), ("step", 1.5), ("c", float("nan"))])
def test_settings_out_of_bounds_are_refused(field, value):
    with pytest.raises(ValueError, match="must be"):
        Ucb1(**{field: value})
