"""Normalisers: their numbers by hand, their bounds, their first phases, and what is not finite."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core import RewardTraits
from andrea_plugins.rewards.normalisers import KINDS, Normalised, Reservoir, declared, rescaled, started

RATE = 0.1
NAN = np.nan


def run(kind, *phases, rate=RATE, size=50):
    """The normalised scores of each phase and the last state."""
    scale, rng, answers = started(kind, size), np.random.default_rng(0), []
    for scores in phases:
        answer, scale = rescaled(kind, scale, np.array(scores, float), rate, rng)
        answers.append(answer)
    return answers, scale


def test_none_leaves_scores_as_they_are():
    answers, scale = run("none", [3.0, NAN], [-1e9, 2.0])

    assert answers[1].tolist() == [-1e9, 2.0]
    assert scale is None


def test_quantiles_of_all_scores_so_far_become_minus_1_and_1():
    answers, _ = run("quantile", [0.0, 1.0, 2.0], [3.0, 4.0, 5.0])  # quantiles 1 and 4 of 0 to 5

    assert answers[1] == pytest.approx([1 / 3, 1.0, 1.0])
    assert answers[0] == pytest.approx([-1.0, 0.0, 1.0])  # quantiles .4 and 1.6, this phase alone


def test_equal_scores_are_0_and_the_first_different_one_is_at_an_end():
    answers, _ = run("quantile", [2.5, 2.5], [2.5, NAN], [NAN, 2.5], *[[2.5, 2.5]] * 5, [3.0, 2.0])

    assert answers[0].tolist() == [0.0, 0.0]
    assert answers[-1].tolist() == [1.0, -1.0]


def test_a_reservoir_keeps_each_past_score_with_the_same_probability():
    """With 8 of 32 scores kept, each is there in a quarter of the trials: within 4 standard errors of 400 of them."""
    kept, trials = np.zeros(32), 400
    for trial in range(trials):
        scale, rng = started("quantile", 8), np.random.default_rng(trial)
        for phase in range(8):
            _, scale = rescaled("quantile", scale, 4.0 * phase + np.arange(4.0), RATE, rng)
        kept[scale.values.astype(int)] += 1

    assert kept.sum() == 8 * trials
    assert np.abs(kept / trials - 0.25).max() < 4 * math.sqrt(0.25 * 0.75 / trials)


def test_a_reservoir_fills_up_before_it_drops_anything():
    _, scale = run("quantile", [1.0, NAN], [2.0, 3.0], size=4)

    assert scale.values[:3].tolist() == [1.0, 2.0, 3.0]
    assert np.isnan(scale.values[3])
    assert scale.seen == 3


def test_gains_that_fall_for_good_end_at_minus_1_but_recent_ones_are_told_apart():
    """Two sources gain 1.3 and 0.7 parts of e^(-t / 300): late, the published rule has -1 for both."""
    rng = np.random.default_rng(1)
    phases = [np.exp(-t / 300) * np.array([1.3, 0.7]) * rng.uniform(0.8, 1.2, 2) for t in range(3000)]
    late = {kind: np.array(run(kind, *phases, size=100)[0][-100:]) for kind in ("quantile", "recent")}

    assert (late["quantile"] == -1).all()
    assert late["recent"][:, 0].mean() - late["recent"][:, 1].mean() > 1.0


def test_a_recent_reservoir_is_full_of_recent_scores():
    _, scale = run("recent", *[[float(t)] for t in range(2000)], size=20)

    assert not np.isnan(scale.values).any()
    assert scale.values.min() > 2000 - 20 * 12  # (19/20)^240 is 5e-6
    assert scale.values.max() == 1999


def test_a_z_score_is_measured_by_the_moving_mean_and_deviation():
    answers, scale = run("zscore", [1.0, 3.0], [2.0, 6.0])  # the second phase counts half
    mean = (2.0 + 4.0) / 2
    deviation = math.sqrt((1.0 + 4.0) / 2 + 1.0)  # mean of the variances, and that of the means

    assert (scale.centre, scale.deviation) == (pytest.approx(mean), pytest.approx(deviation))
    assert answers[1] == pytest.approx((np.array([2.0, 6.0]) - mean) / deviation)


def test_z_scores_of_many_phases_have_the_moments_of_exponential_averages():
    rng = np.random.default_rng(1)
    phases = rng.normal(5.0, 2.0, (4000, 3))
    answers, scale = run("zscore", *phases, rate=0.01)
    late = np.array(answers[1000:])

    assert scale.centre == pytest.approx(5.0, abs=0.5)
    assert late.mean() == pytest.approx(0.0, abs=0.1)
    assert late.std() == pytest.approx(1.0, abs=0.1)


def test_the_deviation_keeps_signs_and_zero():
    answers, scale = run("deviation", [1.0, -0.5], [0.0, 2.0])
    first = math.sqrt((1.0 + 0.25) / 2)

    assert answers[0] == pytest.approx(np.array([1.0, -0.5]) / (first * math.sqrt(0.1 / 1.9)))
    assert answers[1][0] == 0.0
    assert scale.deviation == pytest.approx(math.sqrt((first**2 + 2.0) / 2))


@pytest.mark.parametrize("kind", ["quantile", "zscore"])
def test_equal_scores_are_0_even_when_their_mean_is_rounded(kind):
    answers, _ = run(kind, [0.1, 0.1, 0.1], [0.1, 0.1, 0.1])

    assert np.array(answers).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_finite_passes_and_is_not_learnt(kind):
    hostile, scale = run(kind, [1.0, 2.0, 4.0], [math.inf, -math.inf, NAN], [math.inf, 3.0, NAN], [0.5, 1.5, 2.5])
    plain, other = run(kind, [1.0, 2.0, 4.0], [NAN, 3.0, NAN], [0.5, 1.5, 2.5])

    assert hostile[1].tolist()[:2] == [math.inf, -math.inf]
    assert np.isnan(hostile[1][2])
    assert hostile[2][1] == plain[1][1]
    assert hostile[3].tolist() == plain[2].tolist()
    assert repr(scale) == repr(other)


numbers = st.floats(-1e300, 1e300)
phases_of_scores = st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=12)
BOUNDS = {
    "quantile": lambda rate: 1.0,
    "zscore": lambda rate: math.sqrt(3 / rate - 1.0),
    "deviation": lambda rate: math.sqrt((2.0 - rate) * 3) / rate,
}


@pytest.mark.parametrize("kind", BOUNDS)
@given(phases=phases_of_scores, rate=st.floats(0.01, 1.0))
def test_normalised_scores_stay_within_their_bound_whatever_they_were(kind, phases, rate):
    answers, _ = run(kind, *phases, rate=rate)

    assert np.isfinite(answers).all()
    assert np.abs(answers).max() <= BOUNDS[kind](rate) * (1 + 1e-9)


@pytest.mark.parametrize("kind", BOUNDS)
@given(
    phases=st.lists(  # subnormal numbers have too few digits to be the same in another unit
        st.lists(st.floats(-100, 100, allow_subnormal=False), min_size=3, max_size=3), min_size=1, max_size=8
    )
)
def test_normalised_scores_do_not_depend_on_the_unit(kind, phases):
    plain, _ = run(kind, *phases)
    scaled, _ = run(kind, *(2.0**20 * np.array(scores) for scores in phases))

    assert np.array(scaled) == pytest.approx(np.array(plain), rel=1e-9, abs=1e-9)


def test_what_becomes_of_the_traits():
    loss = RewardTraits((0.0, math.inf), staleness=2.0)

    assert declared("none", loss) == loss
    assert declared("quantile", loss).range == (-1.0, 1.0)
    assert declared("zscore", loss).signed
    assert not declared("deviation", loss).signed
    assert declared("quantile", loss).staleness == 2.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"normaliser": "range"}, "must be one of 'quantile', 'recent', 'zscore', 'deviation', 'none'"),
        ({"rate": 0.0}, "greater than 0"),
        ({"reservoir": 1}, "at least 2"),
    ],
)
def test_unknown_words_and_numbers_out_of_bounds_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Normalised(**settings)


def test_a_state_of_one_kind_stays_of_that_kind():
    assert isinstance(run("quantile", [1.0, 2.0])[1], Reservoir)
