"""Aioli: the golden matrix and mixture, recovery of a known A on any region, its schedule, and what goes missing."""

import numpy as np
import pytest
from mixtures import moment_of, phase, proposal_of, sources_of, target_of

from andrea_core import Region
from andrea_plugins.policies.aioli import Aioli
from andrea_plugins.policies.transfer import one_hot, solved

GAINS = np.array([[0.4, 0.1, 0.05], [0.05, 0.3, 0.1], [0.0, 0.1, 0.2]])  # row: trained on, column: measured
GOLDEN = [0.341131, 0.334376, 0.324494]
FREE = Region.of(("s0", "s1", "s2"))
FLOORED = Region.of(("s0", "s1", "s2"), floors={"s0": 0.5}, caps={"s2": 0.2})


def softmax(values):
    powers = np.exp(values - np.max(values))
    return powers / powers.sum()


def linear_world(policy, region, steps, gains=GAINS, length=7):
    """Train in a world whose held-out losses fall by w @ gains a trial's worth of steps; yield what happened."""
    count = len(region.names)
    state, losses, weights, step, number = policy.start(sources_of(count)), np.full(count, 50.0), region.centre, 0, 0
    while step < steps:
        proposal = policy.propose(state, moment_of(region, weights, number, step), np.random.default_rng(0))
        weights = region.project(proposal.target)
        took = min(proposal.steps or length, steps - step)
        losses = losses - weights @ gains * took / policy.lp_steps
        step += took
        said = phase(weights, heldout=losses, number=number, step=step, steps=took)
        before, state = state, policy.update(state, said)
        yield before, weights, took, state
        number += 1


def learned(policy, region, times=1, **world):
    """The state after A was learned so often."""
    return next(state for *_, state in linear_world(policy, region, 10**6, **world) if state.learned == times)


def test_probes_at_625_thousandths_recover_the_golden_matrix_exactly():
    mixtures = np.array([one_hot(np.ones(3, bool), turn, 0.625) for turn in range(3)])

    assert mixtures.tolist() == [[0.625, 0.1875, 0.1875], [0.1875, 0.625, 0.1875], [0.1875, 0.1875, 0.625]]
    assert solved(mixtures, mixtures @ GAINS) == pytest.approx(GAINS.T, abs=1e-14)


def test_the_first_mixture_learned_is_the_golden_one():
    state = learned(Aioli(), FREE)

    assert state.gain == pytest.approx(GAINS.sum(1), abs=1e-9)
    assert target_of(Aioli(), state, FREE) == pytest.approx(GOLDEN, abs=1e-6)


@pytest.mark.parametrize("rounds", [1, 4])
def test_a_is_right_on_a_region_where_one_hot_mixtures_land_elsewhere(rounds):
    policy = Aioli(lp_rounds=rounds)
    state = learned(policy, FLOORED)
    asked = np.array([one_hot(np.ones(3, bool), turn, 0.625) for turn in range(3)])
    landed = np.array([FLOORED.project(mixture) for mixture in asked])

    assert state.gain == pytest.approx(GAINS.sum(1), abs=1e-9)
    assert np.abs(solved(asked, landed @ GAINS).sum(0) - GAINS.sum(1)).max() > 0.05  # as if they had landed as asked


def test_updates_multiply_without_an_average_and_start_from_the_prior_with_one():
    twice = target_of(Aioli(every=8), learned(Aioli(every=8), FREE, 2), FREE)
    smoothed = target_of(Aioli(every=8, ema=0.1), learned(Aioli(every=8, ema=0.1), FREE, 2), FREE)

    assert twice == pytest.approx(softmax(0.4 * GAINS.sum(1)), abs=1e-9)
    assert smoothed == pytest.approx(GOLDEN, abs=1e-6)


def test_the_average_keeps_its_part_of_the_old():
    policy = Aioli(ema=0.25)
    state = learned(policy, FREE)
    for number in range(1000):
        proposal = proposal_of(policy, state, FREE)
        weights = proposal.target
        losses = state.losses - weights @ (2.0 * GAINS) * proposal.steps / policy.lp_steps
        state = policy.update(state, phase(weights, heldout=losses, number=number, steps=proposal.steps))
        if state.learned == 2:
            break

    assert state.gain == pytest.approx((0.75 * 2.0 + 0.25) * GAINS.sum(1), abs=1e-9)


def test_trials_and_training_make_up_all_steps_in_the_order_of_the_paper():
    policy = Aioli(every=20)
    walk = list(linear_world(policy, FREE, 4 + 2 * (48 + 20)))
    lengths = [took for _, _, took, _ in walk]

    assert lengths == [4, *[4] * 12, 20, *[4] * 12, 20]
    trials = [weights.argmax() for _, weights, _, _ in walk[1:13]]
    assert trials == [0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 1, 2]  # each sweep begins one later
    assert [state.learned for *_, state in walk][-1] == 2


def test_a_trial_that_a_stage_border_cut_counts_in_proportion():
    policy = Aioli(lp_rounds=1)
    state = policy.update(policy.start(sources_of(3)), phase([1 / 3] * 3, heldout=[9.0] * 3, steps=4))
    for turn, took in enumerate((4, 1, 4)):
        weights = one_hot(np.ones(3, bool), turn, 0.625)
        losses = state.losses - weights @ GAINS * took / 4
        state = policy.update(state, phase(weights, heldout=losses, steps=took))

    assert state.gain == pytest.approx(GAINS.sum(1), abs=1e-9)


def test_closed_sources_are_not_tried_and_an_opening_in_a_sweep_makes_it_longer():
    policy = Aioli(lp_rounds=1)
    half = Region.of(("s0", "s1", "s2"), exclude=("s2",))
    walk = list(linear_world(policy, half, 4 + 2 * 4))
    assert walk[-1][-1].learned == 1  # two open sources, two trials
    assert all(weights[2] == 0 for _, weights, _, _ in walk)

    state = walk[-2][-1]  # one trial done, one to go, and now all three are open
    weights = target_of(policy, state, FREE)
    state = policy.update(state, phase(weights, heldout=state.losses - weights @ GAINS, steps=4))
    assert state.learned == 0
    weights = target_of(policy, state, FREE)
    assert policy.update(state, phase(weights, heldout=state.losses - weights @ GAINS, steps=4)).learned == 1


def test_a_source_without_held_out_text_leaves_its_row_of_a_out():
    mixtures = np.array([one_hot(np.ones(3, bool), turn, 0.625) for turn in range(3)])
    drops = mixtures @ GAINS
    drops[:, 1] = np.nan

    assert solved(mixtures, drops) == pytest.approx(GAINS.T * np.array([[1.0], [0.0], [1.0]]), abs=1e-14)


def test_what_no_mixture_tried_moves_nothing():
    same = np.tile([0.5, 0.25, 0.25], (3, 1))
    transfer = solved(same, same @ GAINS)

    assert same[0] @ transfer.T == pytest.approx(same[0] @ GAINS)  # explains what was seen
    assert transfer.sum(0) == pytest.approx(np.array([0.5, 0.25, 0.25]) * (same[0] @ GAINS).sum() / 0.375)


def test_a_single_source_is_its_own_trial():
    assert one_hot(np.array([False, True]), 5, 0.625).tolist() == [0.0, 1.0]
    policy = Aioli(lp_rounds=2, every=3)
    (*_, last) = [state for *_, state in linear_world(policy, Region.of(("s0",)), 60, np.array([[0.1]]))]

    assert last.learned > 1
    assert target_of(policy, last, 1).tolist() == [1.0]


def test_without_any_measurement_the_prior_stays():
    policy = Aioli(prior={"s0": 0.75, "s1": 0.25})
    state = policy.start(sources_of(3))
    for number in range(30):
        state = policy.update(state, phase([0.75, 0.25, 0.0], heldout=None if number % 2 else [np.nan] * 3))

    assert target_of(policy, state, FREE) == pytest.approx([0.75, 0.25, 0.0])
    assert state.mixtures.shape == (0, 3)


def test_absurd_losses_leave_finite_weights():
    policy = Aioli(lp_rounds=1, every=1)
    state = policy.start(sources_of(3))
    for number in range(40):
        weights = target_of(policy, state, FREE)
        loss = [(1e300, np.inf, 1.0)[number % 3], (-1e300, 2.0, np.nan)[number % 3], 3.0]
        state = policy.update(state, phase(weights, heldout=loss, number=number, steps=4))
        assert np.isfinite(weights).all()

    assert state.learned > 3
