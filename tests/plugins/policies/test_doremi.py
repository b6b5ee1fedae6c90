"""DoReMi and Sheared-LLaMA: golden weights, the closed form, what is missing, and what cannot be learnt."""

import numpy as np
import pytest
from mixtures import phase, proposal_of, sources_of, target_of, walked

from andrea_core import Region, ScenarioError
from andrea_plugins.policies.doremi import Doremi

REFERENCE = {"s0": 2.0, "s1": 2.0, "s2": 2.0}
LOSSES = [2.3, 1.9, 2.1]  # excess .3, 0 after the clip, .1

INITIAL = (0.67, 0.045, 0.045, 0.02, 0.045, 0.025, 0.15)
FINAL = (0.2192, 0.0002, 0.0791, 0.0064, 0.0096, 0.001, 0.6845)


def test_three_updates_from_uniform_give_the_golden_weights_and_their_golden_mean():
    weights = walked(Doremi(REFERENCE), 3, 3, loss=LOSSES)[-1]
    mean = walked(Doremi(REFERENCE, act_on="mean"), 3, 3, loss=LOSSES)[-1]

    assert weights == pytest.approx([0.511056, 0.208166, 0.280779], abs=1e-6)
    assert mean == pytest.approx([0.450714, 0.248360, 0.300926], abs=1e-6)


def test_the_running_mean_is_reported_whichever_is_acted_on():
    for act_on in ("weights", "mean"):
        policy = Doremi(REFERENCE, act_on=act_on)
        state = policy.start(sources_of(3))
        for number in range(3):
            state = policy.update(state, phase([1 / 3] * 3, loss=LOSSES, number=number))
        notes = proposal_of(policy, state, 3).notes

        assert notes["mean"] == pytest.approx([0.450714, 0.248360, 0.300926], abs=1e-6)
        assert notes["excess"] == pytest.approx([0.3, 0.0, 0.1])


@pytest.mark.parametrize("updates", [1, 7, 40])
def test_sheared_goes_from_the_released_initial_to_the_final_weights_for_a_constant_excess(updates):
    initial, final = np.array(INITIAL) / sum(INITIAL), np.array(FINAL) / sum(FINAL)
    excess = np.log(final / initial) / updates
    names = [f"s{k}" for k in range(7)]
    policy = Doremi(
        dict.fromkeys(names, 2.0), "sheared", smoothing=0.0, initial=dict(zip(names, map(float, initial), strict=True))
    )

    assert target_of(policy, policy.start(sources_of(7)), 7) == pytest.approx(initial, abs=1e-12)
    assert walked(policy, 7, updates, loss=2.0 + excess)[-1] == pytest.approx(final, abs=1e-9)


def test_sheared_does_not_clip_and_doremi_does():
    below = [1.0, 2.0, 2.0]

    assert walked(Doremi(REFERENCE), 3, 1, loss=below)[-1] == pytest.approx([1 / 3] * 3)
    assert walked(Doremi(REFERENCE, "sheared", smoothing=0.0), 3, 1, loss=below)[-1] == pytest.approx(
        np.array([np.exp(-1.0), 1.0, 1.0]) / (2.0 + np.exp(-1.0))
    )


def test_the_forms_have_their_own_smoothing():
    extreme = [1e9, 2.0, 2.0]

    assert walked(Doremi(REFERENCE), 3, 1, loss=extreme)[-1].min() == pytest.approx(1e-3 / 3)
    assert walked(Doremi(REFERENCE, "sheared"), 3, 1, loss=extreme)[-1].min() == pytest.approx(1e-4 / 3)
    assert walked(Doremi(REFERENCE, smoothing=0.3), 3, 1, loss=extreme)[-1].min() == pytest.approx(0.1)


def test_a_source_that_cannot_be_learnt_is_chased_without_a_good_reference_only():
    noise = [5.0, 2.5, 2.5]  # the first source's loss never falls
    blind = walked(Doremi(dict.fromkeys(REFERENCE, 2.0)), 3, 30, loss=noise)[-1]
    known = walked(Doremi({"s0": 5.0, "s1": 2.0, "s2": 2.0}), 3, 30, loss=noise)[-1]

    assert blind[0] > 0.99
    assert known[0] < 0.01


def test_a_missing_source_counts_its_last_excess_again_or_is_skipped():
    unseen = phase([0.4, 0.3, 0.3], loss=[np.nan, 2.0, 2.0])
    for missing, factor in (("keep", np.exp(0.6)), ("skip", np.exp(0.3))):
        policy = Doremi(REFERENCE, smoothing=0.0, missing=missing)
        state = policy.update(policy.start(sources_of(3)), phase([1 / 3] * 3, loss=[2.3, 2.0, 2.0]))
        weights = target_of(policy, policy.update(state, unseen), 3)

        assert weights[0] / weights[1] == pytest.approx(factor)


def test_a_source_without_weight_is_not_moved_and_is_never_proposed_while_closed():
    policy = Doremi(REFERENCE, smoothing=0.0)
    state = policy.update(policy.start(sources_of(3)), phase([1 / 3] * 3, loss=[2.3, 2.3, 2.3]))
    closed = policy.update(state, phase([0.5, 0.5, 0.0], loss=[2.0, 2.0, np.nan]))

    assert closed.log_weights == pytest.approx(state.log_weights)
    weights = target_of(policy, closed, Region.of(("s0", "s1", "s2"), exclude=("s2",)))
    assert weights == pytest.approx([0.5, 0.5, 0.0])


def test_one_absurd_loss_is_forgotten():
    policy = Doremi(REFERENCE)
    state = policy.update(policy.start(sources_of(3)), phase([1 / 3] * 3, loss=[1e300, 2.0, 2.0]))
    assert target_of(policy, state, 3)[0] > 0.999
    for number in range(1, 40):
        weights = target_of(policy, state, 3)
        state = policy.update(state, phase(weights, loss=[2.0, 2.5, 2.0], number=number))

    assert target_of(policy, state, 3)[1] > 0.9


def test_every_source_needs_a_reference():
    with pytest.raises(ScenarioError, match="policy doremi, reference: no number for source 's2'; give one for every"):
        Doremi({"s0": 1.0, "s1": 1.0}).start(sources_of(3))
    with pytest.raises(ValueError, match="must be finite"):
        Doremi({"s0": float("nan")})
