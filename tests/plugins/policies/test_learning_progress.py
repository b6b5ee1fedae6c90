"""Learning progress: slopes, the two teachers, the two explorations, and forgetting."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from mixtures import phase, sources_of, target_of

from andrea_core import Region
from andrea_plugins.policies.learning_progress import LearningProgress, slopes


def after(policy, losses, **extra):
    """The state after phases with these training losses, one row a phase."""
    count = len(losses[0])
    state = policy.start(sources_of(count))
    for number, loss in enumerate(losses):
        state = policy.update(state, phase(np.full(count, 1 / count), loss=loss, number=number, **extra))
    return state


@given(st.lists(st.tuples(st.integers(0, 40), st.floats(-5, 5)), min_size=2, max_size=12, unique_by=lambda p: p[0]))
def test_slopes_are_those_of_least_squares(points):
    times, values = np.array(points).T
    gaps = np.full(3, np.nan)
    found = slopes(np.concatenate([gaps, times])[None], np.concatenate([gaps, values])[None])

    assert found[0] == pytest.approx(np.polyfit(times, values, 1)[0], abs=1e-8)


def test_fewer_than_two_times_have_no_slope():
    assert np.isnan(slopes(np.array([[np.nan, 3.0]]), np.array([[np.nan, 1.0]]))).all()


def test_the_online_teacher_averages_the_last_changes():
    losses = [[5.0, 5.0], [4.0, np.nan], [3.5, 4.0], [3.4, 4.2]]
    state = after(LearningProgress(form="online", alpha=0.5), losses)

    assert state.progress == pytest.approx(
        [((0.5 * 1.0) * 0.5 + 0.5 * 0.5) * 0.5 + 0.5 * 0.1, (0.5 * 1.0) * 0.5 - 0.5 * 0.2]
    )


def test_the_window_teacher_averages_slopes_over_the_window():
    policy = LearningProgress(window=3, alpha=0.5)
    losses = [[9.0], [7.0], [6.0], [5.5]]
    expected = 0.0
    for end in range(2, 5):
        window = np.array(losses[max(0, end - 3) : end])[:, 0]
        expected = 0.5 * expected - 0.5 * np.polyfit(np.arange(len(window)), window, 1)[0]

    assert after(policy, losses).progress == pytest.approx([expected])


def test_epsilon_spreads_its_part_evenly_and_ties_share():
    policy = LearningProgress(form="online", epsilon=0.3)

    assert target_of(policy, policy.start(sources_of(3)), 3) == pytest.approx([1 / 3] * 3)
    two = after(policy, [[5.0, 5.0, 5.0], [4.0, 4.0, 4.9]])
    assert target_of(policy, two, 3) == pytest.approx([0.45, 0.45, 0.1])
    closed = Region.of(("s0", "s1", "s2"), exclude=("s0", "s1"))
    assert target_of(policy, two, closed).tolist() == [0.0, 0.0, 1.0]


def test_boltzmann_is_the_softmax_of_progress_over_temperature():
    policy = LearningProgress(form="online", exploration="boltzmann", alpha=1.0, temperature=0.5)
    powers = np.exp(np.array([1.0, 0.0, 0.2]) / 0.5)

    assert target_of(policy, after(policy, [[5.0] * 3, [4.0, 5.0, 4.8]]), 3) == pytest.approx(powers / powers.sum())


def test_what_is_being_forgotten_returns_if_progress_is_absolute():
    losses = [[3.0, 3.0, 3.0], [2.9, 3.5, 3.0], [2.8, 4.0, 3.0]]

    assert target_of(LearningProgress(), after(LearningProgress(), losses), 3).argmax() == 1
    signed = LearningProgress(absolute=False)
    assert target_of(signed, after(signed, losses), 3).argmax() == 0


def test_held_out_losses_or_rewards_may_be_the_score():
    held = LearningProgress(form="online", signal="heldout", alpha=1.0)
    state = held.start(sources_of(2))
    for number, loss in enumerate([[5.0, 5.0], [4.5, 4.0]]):
        state = held.update(state, phase([0.5, 0.5], loss=[1.0, 1.0], heldout=loss, number=number))
    assert state.progress == pytest.approx([0.5, 1.0])
    assert held.needs == {"heldout"}

    reward = LearningProgress(form="online", signal="reward", alpha=1.0)
    state = reward.start(sources_of(2))
    for number, score in enumerate([[0.1, 0.2], [0.4, np.nan], [0.4, 0.3]]):
        state = reward.update(state, phase([0.5, 0.5], reward=score, number=number))
    assert state.progress == pytest.approx([0.0, 0.1])


@pytest.mark.parametrize("exploration", ["epsilon", "boltzmann"])
def test_absurd_rewards_and_temperatures_leave_finite_weights(exploration):
    policy = LearningProgress(exploration=exploration, signal="reward", temperature=1e-300)
    state = policy.start(sources_of(3))
    for number, size in enumerate([1e308, -1e308, 1e-300, 0.0, 1e308]):
        state = policy.update(state, phase([0.4, 0.3, 0.3], reward=[size, -size, np.nan], number=number))

        assert np.isfinite(target_of(policy, state, 3)).all()
