"""What the rewards measure, by hand: excess loss, prediction and held-out gain; contracts, traits, hostile losses."""

import math

import numpy as np
import pytest

from andrea_core import Gradients, Observation, RewardTraits, ScenarioError, Sources
from andrea_core.testing import check_reward
from andrea_core.testing.worlds import NAMES, draw_observation, make_sources
from andrea_plugins.rewards import ExcessLoss, GradientAlignment, HeldoutGain, Improvement, Loss, PredictionGain
from andrea_plugins.rewards.normalisers import KINDS

RNG = np.random.default_rng(0)
TWO = Sources(("a", "b"), np.ones(2, np.int64))
REFERENCE = dict.fromkeys((*NAMES, "a", "b"), 2.0)


def phase(loss, after=None, heldout=None, gradients=None):
    """Two steps of two rows, source 0 and source 1, 10 and 20 tokens; losses in nats a token."""
    tokens = np.array([[10, 20], [10, 20]])
    source = np.array([[0, 1], [0, 1]])
    return Observation(
        np.array(loss) * tokens,
        tokens,
        source,
        np.array([0.5, 0.5]),
        2,
        heldout=None if heldout is None else np.array(heldout),
        loss_after=None if after is None else np.array(after) * tokens,
        gradients=gradients,
    )


def scored(reward, *phases):
    state, answers = reward.start(TWO), []
    for observation in phases:
        answer, state = reward.score(state, observation, RNG)
        answers.append(answer)
    return answers


def test_excess_loss_is_the_loss_less_the_reference():
    reward = ExcessLoss(reference={"b": 3.0, "a": 2.5})

    assert scored(reward, phase([[2.0, 3.5], [4.0, 3.0]]))[0] == pytest.approx([0.5, 0.25])


def test_the_positive_form_clips_and_the_heldout_signal_is_read_where_asked():
    reward = ExcessLoss(reference={"a": 2.5, "b": 3.0}, form="positive", signal="heldout")

    assert reward.needs == {"heldout"}
    assert scored(reward, phase([[9.0, 9.0], [9.0, 9.0]], heldout=[2.75, 2.0]))[0] == pytest.approx([0.25, 0.0])


def test_a_reference_for_every_source_is_asked_for():
    with pytest.raises(ScenarioError, match="reference: no number for source 'b'"):
        ExcessLoss(reference={"a": 1.0}).start(TWO)
    with pytest.raises(ScenarioError, match="no source is called 'c'"):
        ExcessLoss(reference={"a": 1.0, "b": 1.0, "c": 1.0}).start(TWO)


def test_prediction_gain_is_the_fall_over_the_rows_own_step():
    reward = PredictionGain(normaliser="none")
    shown = phase([[2.0, 3.0], [1.0, 3.0]], after=[[1.5, 3.25], [1.0, 3.25]])

    assert scored(reward, shown)[0] == pytest.approx([0.25, -0.25])


def test_heldout_gain_is_the_loss_before_less_the_loss_now():
    reward = HeldoutGain(normaliser="none")
    phases = [phase([[1.0, 1.0]] * 2, heldout=held) for held in ([3.0, 2.0], [2.5, 2.25], [2.5, math.nan], [2.0, 2.0])]
    answers = scored(reward, *phases)

    assert np.isnan(answers[0]).all()
    assert answers[1] == pytest.approx([0.5, -0.25])
    assert answers[2][0] == 0.0
    assert np.isnan(answers[2][1])
    assert answers[3] == pytest.approx([0.5, 0.25])  # since it was last known


EVERY = [
    *(Loss(normaliser=kind) for kind in KINDS),
    *(Improvement(normaliser=kind) for kind in KINDS),
    Improvement(form="andrea"),
    *(ExcessLoss(reference=REFERENCE, normaliser=kind) for kind in KINDS),
    ExcessLoss(reference=REFERENCE, form="positive", signal="heldout"),
    *(PredictionGain(normaliser=kind) for kind in KINDS),
    *(HeldoutGain(normaliser=kind) for kind in KINDS),
    *(
        GradientAlignment(form=form, target=target, normaliser=kind)
        for form, target, kind in (
            ("cosine", "mean", "none"),
            ("cosine", "others", "quantile"),
            ("product", "mean", "zscore"),
            ("product", "others", "deviation"),
        )
    ),
]


@pytest.mark.parametrize("reward", EVERY, ids=repr)
def test_every_reward_keeps_the_contract(reward):
    names = tuple(REFERENCE) if isinstance(reward, ExcessLoss) else NAMES
    check_reward(reward, names)


@pytest.mark.parametrize("reward", EVERY, ids=repr)
def test_scores_stay_in_the_range_that_is_declared(reward):
    low, high = reward.traits.range
    names = tuple(REFERENCE) if isinstance(reward, ExcessLoss) else NAMES
    rng, state = np.random.default_rng(3), reward.start(make_sources(names))
    for step in range(40):
        observation = draw_observation(rng.dirichlet(np.ones(len(names))), step, rng, reward.needs)
        answer, state = reward.score(state, observation, rng)
        known = answer[~np.isnan(answer)]
        assert ((known >= low) & (known <= high)).all()
        if not reward.traits.signed:
            assert low >= 0


GRADIENTS = Gradients(np.array([[4.0, 1.0], [1.0, 9.0]]), np.array([[2.0, 1.0], [0.5, 3.0]]))
BROKEN = Gradients(np.full((2, 2), np.nan), np.full((2, 2), np.nan))


@pytest.mark.parametrize("reward", EVERY, ids=repr)
@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan, 1e300, -1e300])
def test_a_loss_that_is_not_finite_poisons_nothing_that_comes_after(reward, bad):
    if isinstance(reward, ExcessLoss):
        reward = ExcessLoss(
            reference={"a": 2.0, "b": 2.0}, form=reward.form, signal=reward.signal, normaliser=reward.normaliser
        )
    fine = [
        phase([[2.0 + x, 3.0 - x], [1.0, 3.0]], [[1.5, 3.25 + x], [1.0, 3.25]], [2.0 - x, 1.0 + x], GRADIENTS)
        for x in (0.0, 0.1, 0.3)
    ]
    tokens = 10.0 if abs(bad) == 1e300 else 1.0
    broken = phase([[bad / tokens, 3.0], [1.0, bad / tokens]], [[bad / tokens] * 2] * 2, [bad, bad], BROKEN)
    state = reward.start(TWO)
    with np.errstate(all="ignore"):
        for observation in (*fine, broken, *fine * 60):
            answer, state = reward.score(state, observation, RNG)

    assert np.isfinite(answer).all()
    if abs(bad) != 1e300:  # a huge score is still a score, and shrinks what follows for a while
        clean = reward.start(TWO)
        for observation in fine * 61:
            expected, clean = reward.score(clean, observation, RNG)
        assert np.sign(answer).tolist() == np.sign(expected).tolist()


def test_traits_say_sign_range_and_age():
    assert Loss().traits == RewardTraits((0.0, math.inf))
    assert Improvement().traits.staleness == pytest.approx(50.0)
    assert Improvement(form="andrea").traits.range == (0.0, math.inf)
    assert PredictionGain().traits.range == (-1.0, 1.0)
    assert HeldoutGain().traits.staleness == 1.0
    assert GradientAlignment().traits.range == (-1.0, 1.0)
    assert not ExcessLoss(reference={"a": 1.0}, form="positive").traits.signed
