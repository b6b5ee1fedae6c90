"""R&B: its softmax of the normalised pull, and what becomes of sources without a gradient."""

import numpy as np
import pytest

from andrea_core import Gradients, Moment, Observation, Outcome, Region, Sources
from andrea_core.testing import check_policy
from andrea_core.testing.worlds import draw_ledger
from andrea_plugins.policies import RegroupBalance
from andrea_plugins.policies.rb import balanced

NAMES = ("a", "b", "c")


def after(policy, *phases):
    state = policy.start(Sources(NAMES, np.ones(3, np.int64)))
    for gram, weights in phases:
        shape = (1, 1)
        row = Observation(
            np.ones(shape),
            np.ones(shape, np.int64),
            np.zeros(shape, np.int64),
            weights,
            1,
            gradients=Gradients(gram, gram),
        )
        nothing = np.zeros(3)
        state = policy.update(state, Outcome(1, 0, weights, weights, nothing, nothing > 0, nothing, row))
    return state


def proposed(policy, state, region=None):
    region = Region.of(NAMES) if region is None else region
    ledger = draw_ledger(3, np.random.default_rng(0))
    at = Moment(0, 0, "trial", Sources(NAMES, np.ones(3, np.int64)), region, region.centre, ledger)
    return policy.propose(state, at, np.random.default_rng(0))


def test_weights_are_the_softmax_of_the_normalised_pull():
    gram, weights = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]), np.array([0.5, 0.25, 0.25])
    pull = np.array([2.25, 0.75, 0.0])  # by hand
    exponents = 2.0 * pull / np.sqrt(2.25**2 + 0.75**2)
    policy = RegroupBalance(strength=2.0)

    expected = np.exp(exponents) / np.exp(exponents).sum()
    assert proposed(policy, after(policy, (gram, weights))) == pytest.approx(expected, rel=1e-12)


def test_orthogonal_gradients_of_one_size_under_equal_weights_stay_equal():
    policy = RegroupBalance(strength=5.0)
    state = after(policy, (np.eye(3), np.full(3, 1 / 3)))

    assert proposed(policy, state) == pytest.approx(np.full(3, 1 / 3))


def test_only_the_direction_of_the_pull_matters():
    gram, weights = np.diag([1.0, 2.0, 3.0]), np.full(3, 1 / 3)
    small, large = (balanced(size * gram, weights, 1.0, np.zeros(3)) for size in (1e-200, 1e200))

    assert small == pytest.approx(large, rel=1e-12)


def test_a_source_without_a_gradient_keeps_its_exponent_and_pulls_nobody():
    known = np.diag([1.0, 2.0, 3.0])
    unknown = np.array(known)
    unknown[1] = unknown[:, 1] = np.nan
    policy, weights = RegroupBalance(), np.full(3, 1 / 3)
    first, second = after(policy, (known, weights)), after(policy, (known, weights), (unknown, weights))

    assert second.values[1] == first.values[1]
    assert second.values[[0, 2]] == pytest.approx(np.array([1.0, 3.0]) / np.sqrt(10.0))


def test_gradients_of_0_change_nothing():
    policy, weights = RegroupBalance(), np.full(3, 1 / 3)
    first = after(policy, (np.diag([1.0, 2.0, 3.0]), weights))

    assert after(policy, (np.diag([1.0, 2.0, 3.0]), weights), (np.zeros((3, 3)), weights)).values.tolist() == (
        first.values.tolist()
    )


def test_an_excluded_source_gets_nothing():
    policy = RegroupBalance()

    assert proposed(policy, after(policy), Region.of(NAMES, exclude=("b",))).tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize("strength", [0.1, 1.0, 100.0])
def test_it_keeps_the_contract(strength):
    check_policy(RegroupBalance(strength=strength))
