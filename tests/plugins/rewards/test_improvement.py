"""The reward improvement: pulls, averages, signs and units."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core import Observation, Sources
from andrea_plugins.rewards import Improvement

RNG = np.random.default_rng(0)
RAW = Improvement(normaliser="none")
RATE = 0.02
ANDREA = Improvement(form="andrea")


def phase(*steps, count=2):
    """Return an observation, 10 tokens a row; a step is a list of rows (source, loss in nats a token)."""
    source = np.array([[k for k, _ in step] for step in steps], dtype=np.int64)
    loss = np.array([[x for _, x in step] for step in steps], dtype=np.float64)
    return Observation(loss * 10, np.full(source.shape, 10), source, np.full(count, 1 / count), 0)


def rewards(reward, *phases, count=2):
    state = reward.start(Sources(tuple("abcdef"[:count]), np.ones(count, np.int64)))
    answers = []
    for observation in phases:
        answer, state = reward.score(state, observation, RNG)
        answers.append(answer)
    return np.array(answers), state


def test_a_first_pull_starts_the_average_and_gives_no_score():
    answers, state = rewards(RAW, phase([(0, 3.0)]))

    assert np.isnan(answers).all()
    assert state.loss[0] == 3.0
    assert np.isnan(state.loss[1])


def test_a_pull_scores_the_average_before_it_minus_its_loss():
    answers, state = rewards(RAW, phase([(0, 3.0)]), phase([(0, 2.0)], [(0, 3.5)]))

    assert answers[1, 0] == pytest.approx(((3.0 - 2.0) + (2.5 - 3.5)) / 2)  # the mean over the phase's two pulls
    assert state.loss[0] == pytest.approx((3.0 + 2.0 + 3.5) / 3)


def test_an_average_is_the_plain_mean_until_its_rate_is_reached():
    series = [3.0, 1.0, 5.0, 2.0, 4.0]
    answers, state = rewards(Improvement(normaliser="none", alpha=0.25), *(phase([(0, x)]) for x in series))

    means = [3.0, 2.0, 3.0, 2.75]
    assert answers[1:, 0] == pytest.approx([mean - x for mean, x in zip(means, series[1:], strict=True)])
    assert state.loss[0] == pytest.approx(2.75 + 0.25 * (4.0 - 2.75))


def test_andreas_average_moves_at_its_rate_from_the_start_and_faster_by_default():
    _, state = rewards(ANDREA, phase([(0, 3.0)], [(0, 2.0)]))

    assert state.loss[0] == pytest.approx(2.9)
    assert (ANDREA.rate, Improvement().rate, Improvement(form="andrea", alpha=0.3).rate) == (0.1, 0.02, 0.3)


def test_only_the_pulled_sources_average_moves():
    _, state = rewards(RAW, phase([(0, 3.0), (1, 5.0)]), phase([(1, 4.0), (1, 4.0)]))

    assert state.loss[0] == 3.0
    assert state.loss[1] == pytest.approx(4.5)


def test_the_rows_of_one_source_in_one_step_are_one_pull_weighted_by_tokens():
    rows = Observation(np.array([[30.0, 100.0]]), np.array([[10, 50]]), np.array([[0, 0]]), np.array([0.5, 0.5]), 0)
    _, state = rewards(RAW, rows)

    assert state.loss[0] == pytest.approx(130.0 / 60.0)


def test_andreas_form_is_a_thousand_times_the_positive_part():
    answers, _ = rewards(ANDREA, phase([(0, 3.0)]), phase([(0, 4.0)], [(0, 2.0)]))

    assert answers[1, 0] == pytest.approx((0.0 + 1000.0 * (3.1 - 2.0)) / 2)


def test_the_default_unit_is_the_standard_error_of_a_moving_average_of_scores():
    answers, state = rewards(Improvement(), phase([(0, 3.0), (1, 3.0)]), phase([(0, 2.0), (1, 3.5)]))
    deviation = np.sqrt((1.0**2 + 0.5**2) / 2)

    assert state.scale.deviation == pytest.approx(deviation)
    assert answers[1] == pytest.approx(np.array([1.0, -0.5]) / (deviation * np.sqrt(RATE / (2 - RATE))))


def test_losses_that_never_move_give_a_reward_of_0():
    answers, _ = rewards(Improvement(), phase([(0, 2.5)]), phase([(0, 2.5)]))

    assert answers[1, 0] == 0.0


def test_a_loss_that_is_not_finite_leaves_the_average_alone():
    _, state = rewards(RAW, phase([(0, 3.0)]), phase([(0, np.inf)], [(0, np.nan)]))

    assert state.loss[0] == 3.0


losses = st.lists(st.lists(st.floats(0.1, 8.0), min_size=2, max_size=2), min_size=2, max_size=12)


@given(losses, st.integers(1, 11))
def test_averages_do_not_depend_on_where_phases_are_cut(series, cut):
    steps = [[(0, a), (1, b)] for a, b in series]
    cut = min(cut, len(steps) - 1)
    _, whole = rewards(RAW, phase(*steps))
    _, parts = rewards(RAW, phase(*steps[:cut]), phase(*steps[cut:]))

    assert parts.loss.tolist() == whole.loss.tolist()


@given(losses, st.sampled_from([2.0**-20, 2.0**10]))
def test_the_default_does_not_depend_on_the_unit_of_the_loss(series, unit):
    plain, _ = rewards(Improvement(), *(phase([(0, a), (1, b)]) for a, b in series))
    scaled, _ = rewards(Improvement(), *(phase([(0, unit * a), (1, unit * b)]) for a, b in series))

    assert scaled == pytest.approx(plain, rel=1e-9, abs=1e-9, nan_ok=True)


@given(st.lists(st.lists(st.floats(0, 1e300), min_size=2, max_size=2), min_size=2, max_size=12))
def test_the_default_stays_within_its_bound_whatever_the_losses(series):
    answers, _ = rewards(Improvement(), *(phase([(0, a), (1, b)]) for a, b in series))

    assert not np.isinf(answers).any()
    assert np.nanmax(np.abs(answers[1:])) <= np.sqrt((2 - RATE) * 2) / RATE * (1 + 1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"form": "absolute"}, "must be one of 'signed', 'andrea'"),
        ({"normaliser": "range"}, "must be one of 'quantile', 'recent', 'zscore', 'deviation', 'none'"),
        ({"alpha": 0.0}, "greater than 0"),
    ],
)
def test_unknown_words_and_rates_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Improvement(**settings)
