"""ODM: the golden mixtures of its three modes, its uniform beginning, and the landed probability that it divides by."""

import numpy as np
import pytest
from mixtures import phase, proposal_of, sources_of, target_of, walked

from andrea_core import Region, ScenarioError
from andrea_plugins.policies.odm import Odm, exploration

LOSSES = [2.0, 1.0, 3.0]


@pytest.mark.parametrize(("turn", "share"), [(1, 0.045455), (100, 0.037484), (1000, 0.011853), (10_000, 0.003748)])
def test_the_exploration_share_of_22_sources_is_the_golden_one(turn, share):
    assert exploration(turn, 22) == pytest.approx(share, abs=5e-7)


@pytest.mark.parametrize(
    ("mode", "turn", "golden"),
    [
        ("paper", 3, [1 / 3, 1 / 3, 1 / 3]),
        ("paper", 10, [0.332659, 0.277194, 0.390147]),
        ("paper", 100, [0.334237, 0.294423, 0.371340]),
        ("exp3", 10, [0.325878, 0.267586, 0.406536]),
        ("exp3", 100, [0.335653, 0.187045, 0.477301]),
        ("released", 10, [0.295596, 0.229709, 0.474695]),
    ],
)
def test_the_mixture_for_fixed_losses_is_the_golden_one(mode, turn, golden):
    assert walked(Odm(mode=mode), 3, turn, loss=LOSSES)[-1] == pytest.approx(golden, abs=1e-6)


def test_the_released_mode_does_not_depend_on_the_smoothing_while_losses_stay():
    assert walked(Odm("released", smoothing=0.9), 3, 10, loss=LOSSES)[-1] == pytest.approx(
        walked(Odm("released", smoothing=0.1), 3, 10, loss=LOSSES)[-1], abs=1e-12
    )


@pytest.mark.parametrize("mode", ["paper", "released", "exp3"])
@pytest.mark.parametrize(("count", "last"), [(16, 44), (22, 68), (49, 190)])
def test_weights_are_exactly_uniform_while_t_is_at_most_k_ln_k(mode, count, last):
    path = walked(Odm(mode), count, last + 1, loss=np.linspace(1.0, 5.0, count))

    assert last <= count * np.log(count) < last + 1
    assert all((weights == path[0]).all() and np.ptp(weights) == 0 for weights in path[:last])
    assert np.ptp(path[last]) > 0


def test_a_loss_is_divided_by_the_probability_that_landed():
    policy = Odm(smoothing=0.5)
    state = policy.update(policy.start(sources_of(3)), phase([0.7, 0.2, 0.1], loss=LOSSES))

    assert state.value == pytest.approx([0.5 * 2.0 / 0.7, 0.5 * 1.0 / 0.2, 0.5 * 3.0 / 0.1])


def test_a_source_that_was_not_seen_keeps_its_estimate():
    policy = Odm()
    state = policy.update(policy.start(sources_of(3)), phase([0.5, 0.3, 0.2], loss=LOSSES))
    after = policy.update(state, phase([0.5, 0.3, 0.2], loss=[9.0, np.nan, 9.0]))

    assert after.value[1] == state.value[1]
    assert (after.value[[0, 2]] != state.value[[0, 2]]).all()
    assert after.turn == 2


def test_only_open_sources_count_in_k():
    policy = Odm()
    state = policy.start(sources_of(4))
    for number in range(4):
        state = policy.update(state, phase([0.5, 0.5, 0.0, 0.0], loss=[1.0, 3.0, np.nan, np.nan], number=number))
    region = Region.of(("s0", "s1", "s2", "s3"), exclude=("s2", "s3"))
    weights = target_of(policy, state, region)

    assert weights[2:].tolist() == [0.0, 0.0]
    assert weights[1] > weights[0]  # 4 > 2 ln 2: no longer uniform, though 4 < 4 ln 4
    assert np.ptp(target_of(policy, state, 4)) == 0


def test_warm_up_keeps_the_initial_weights_of_the_open_sources_and_learns():
    policy = Odm(warmup=10, initial={"s0": 0.6, "s1": 0.2, "s2": 0.2})
    state = policy.update(policy.start(sources_of(3)), phase([0.6, 0.2, 0.2], loss=LOSSES))

    assert target_of(policy, state, 3, step=9) == pytest.approx([0.6, 0.2, 0.2])
    assert target_of(policy, state, Region.of(("s0", "s1", "s2"), exclude=("s2",)), step=9) == pytest.approx(
        [0.75, 0.25, 0.0]
    )
    assert np.ptp(target_of(policy, state, 3, step=10)) == 0
    assert state.value.all()


def test_in_paper_mode_22_sources_of_1_to_4_nats_stay_almost_uniform():
    weights = walked(Odm(), 22, 1000, loss=np.linspace(1.0, 4.0, 22))[-1]

    assert np.exp(-(weights * np.log(weights)).sum()) > 20.0  # the authors' learned mixtures: 20.4 and 20.2 of 22


@pytest.mark.parametrize("mode", ["paper", "released", "exp3"])
@pytest.mark.parametrize("loss", [1e308, np.inf, -np.inf, np.nan, 1e-300])
def test_no_loss_breaks_the_weights(mode, loss):
    path = walked(Odm(mode), 3, 12, loss=[loss, 1.0, 2.0])

    assert all(np.isfinite(weights).all() and weights.min() > 0 for weights in path)


def test_the_reward_of_the_scenario_may_stand_for_the_loss():
    path = walked(Odm(signal="reward"), 3, 10, reward=LOSSES, loss=[9.0, 9.0, 9.0])

    assert path[-1] == pytest.approx([0.332659, 0.277194, 0.390147], abs=1e-6)
    assert Odm(signal="heldout").needs == {"heldout"}
    assert Odm().needs == frozenset()


def test_the_note_shows_estimates_of_open_sources():
    note = proposal_of(Odm(), Odm().start(sources_of(2)), Region.of(("s0", "s1"), exclude=("s1",))).notes["estimate"]

    assert note[0] == 0.0
    assert np.isnan(note[1])


def test_a_misspelt_initial_source_is_named():
    with pytest.raises(ScenarioError, match="policy odm, initial: no source is called 's9'"):
        Odm(initial={"s9": 1.0}).start(sources_of(3))
    with pytest.raises(ScenarioError, match="every weight is 0"):
        Odm(initial={"s0": 0.0}).start(sources_of(3))
