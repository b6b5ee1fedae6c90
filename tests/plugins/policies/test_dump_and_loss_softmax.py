"""DUMP and the loss softmax: both softmaxes by their formulas, their memories, and noise."""

import numpy as np
import pytest
from mixtures import phase, sources_of, target_of

from andrea_core import Region, ScenarioError
from andrea_plugins.policies.dump import Dump
from andrea_plugins.policies.loss_softmax import LossSoftmax


def softmax(values):
    powers = np.exp(values - np.max(values))
    return powers / powers.sum()


def test_dump_scores_are_windowed_mean_sizes_plus_the_bonus():
    policy = Dump(window=2, temperature=0.5, c=0.7)
    state = policy.start(sources_of(3))
    weights = np.array([0.5, 0.3, 0.2])
    for number, reward in enumerate([[9.0, 1.0, np.nan], [1.0, -2.0, np.nan], [-2.0, np.nan, np.nan]]):
        state = policy.update(state, phase(weights, reward=reward, number=number))
    pulls = 3 * weights
    expected = np.array([1.5, 1.5, 0.0]) + 0.7 * np.sqrt(2 * np.log(4.0) / (pulls + 1))

    assert policy.scores(state) == pytest.approx(expected)
    assert target_of(policy, state, 3) == pytest.approx(softmax(expected / 0.5))


def test_dump_before_any_reward_is_uniform_over_open_sources():
    region = Region.of(("s0", "s1", "s2"), exclude=("s1",))

    assert target_of(Dump(), Dump().start(sources_of(3)), region) == pytest.approx([0.5, 0.0, 0.5])


def test_dump_takes_noise_for_learning_by_its_definition_and_not_with_the_sign():
    shares = {}
    for absolute in (True, False):
        policy, rng = Dump(absolute=absolute), np.random.default_rng(0)
        state, path = policy.start(sources_of(2)), []
        for number in range(400):
            weights = target_of(policy, state, 2)
            path.append(weights[0])
            state = policy.update(state, phase(weights, reward=[rng.normal(0, 1), rng.normal(0.4, 0.1)], number=number))
        shares[absolute] = np.mean(path[100:])

    assert shares[True] > 0.8  # the mean size of N(0, 1) is .8, that of the learner .4
    assert shares[False] < 0.2


def test_the_loss_softmax_is_the_softmax_of_losses_over_temperature():
    policy = LossSoftmax(temperature=2.0)
    state = policy.update(policy.start(sources_of(3)), phase([0.3, 0.3, 0.4], loss=[2.0, 1.0, 3.0]))

    assert target_of(policy, state, 3) == pytest.approx(softmax(np.array([1.0, 0.5, 1.5])))


def test_the_excess_form_takes_the_reference_off():
    policy = LossSoftmax(reference={"s0": 1.5, "s1": 1.0, "s2": -0.5})
    state = policy.update(policy.start(sources_of(3)), phase([0.3, 0.3, 0.4], loss=[2.0, 1.0, 3.0]))

    assert target_of(policy, state, 3) == pytest.approx(softmax(np.array([0.5, 0.0, 3.5])))


def test_losses_stay_while_unseen_and_count_as_the_mean_of_open_sources_before_that():
    policy = LossSoftmax()
    state = policy.update(policy.start(sources_of(4)), phase([0.3, 0.3, 0.4, 0.0], loss=[2.0, 1.0, np.nan, np.nan]))
    assert target_of(policy, state, 4) == pytest.approx(softmax(np.array([2.0, 1.0, 1.5, 1.5])))

    state = policy.update(state, phase([0.3, 0.3, 0.4, 0.0], loss=[np.nan, 1.2, 3.0, np.nan]))
    assert state[:3].tolist() == [2.0, 1.2, 3.0]
    region = Region.of(("s0", "s1", "s2", "s3"), exclude=("s2",))
    assert target_of(policy, state, region) == pytest.approx([*softmax(np.array([2.0, 1.2, -1e9, 1.6]))])


def test_losses_are_smoothed_if_asked():
    policy = LossSoftmax(smoothing=0.75)
    state = policy.start(sources_of(1))
    for loss in (4.0, 2.0):
        state = policy.update(state, phase([1.0], loss=[loss]))

    assert state.tolist() == [3.5]


@pytest.mark.parametrize(("temperature", "expected"), [(1e300, [1 / 3] * 3), (1e-300, [0.0, 1.0, 0.0])])
def test_extreme_temperatures_are_uniform_or_the_largest_loss(temperature, expected):
    policy = LossSoftmax(temperature=temperature)
    state = policy.update(policy.start(sources_of(3)), phase([0.3, 0.3, 0.4], loss=[1.0, 1e300, -1e300]))

    assert target_of(policy, state, 3) == pytest.approx(expected)


def test_a_reference_names_every_source_and_finite_numbers():
    with pytest.raises(ScenarioError, match="loss_softmax, reference: no number for source 's1'"):
        LossSoftmax(reference={"s0": 1.0}).start(sources_of(2))
    with pytest.raises(ValueError, match=r"reference\.s0 must be finite"):
        LossSoftmax(reference={"s0": float("inf")})
