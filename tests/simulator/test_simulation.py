"""The loop without a model: deterministic, true to the law, and ANDREA v1's collapse with what prevented it."""

import os
from pathlib import Path

import attrs
import numpy as np
import pytest

from andrea_core.data.sampler import PhasePlan, SamplerState
from andrea_core.scenario import load
from andrea_core.simulator.learner import BLOCK, Learner
from andrea_core.simulator.simulation import Simulation

SCENARIOS = Path(os.environ.get("ANDREA_EXAMPLES", Path(__file__).parents[2])) / "scenarios"


def plan(source):
    source = np.array(source)
    state = SamplerState(np.zeros(3, np.int64), np.zeros(3), np.ones(3, bool))
    return PhasePlan(source, np.zeros_like(source), state)


def test_a_row_costs_its_sources_loss_before_the_step_and_teaches_after_it(make):
    truth = make(noise=0.0)
    learner = Learner(truth, 10, 1)
    lesson = learner.train(np.zeros(3), plan([[0, 1], [2, 2]]), 0, 0, after=True)
    first = truth.transfer @ np.array([10.0, 10.0, 0.0]) / truth.unit
    second = first + truth.transfer @ np.array([0.0, 0.0, 20.0]) / truth.unit

    assert lesson.row_loss[0] == pytest.approx(truth.loss(np.zeros(3))[[0, 1]] * 10)
    assert lesson.row_loss[1] == pytest.approx(truth.loss(first)[[2, 2]] * 10)
    assert lesson.row_after[0] == pytest.approx(truth.loss(first)[[0, 1]] * 10)
    assert lesson.progress == pytest.approx(second)
    assert lesson.mean == pytest.approx([truth.loss(first).mean(), truth.loss(second).mean()])


def test_a_long_phase_is_computed_in_blocks_that_leave_no_trace(make):
    truth = make(retention=0.999)
    sources = np.random.default_rng(0).integers(0, 3, (BLOCK + 50, 2))
    whole = Learner(truth, 10, 1).train(np.zeros(3), plan(sources), 0, 0, after=False)

    assert len(whole.loss) == len(sources)
    assert whole.progress == pytest.approx(truth.advance(np.zeros(3), 10.0 * counts(sources), 0)[-1])


def counts(sources):
    return np.array([np.bincount(row, minlength=3) for row in sources], float)


def test_row_noise_has_the_size_that_the_truth_says(make):
    truth = make(noise=0.25)
    sources = np.zeros((2000, 2), int)
    noisy, plain = (
        Learner(attrs.evolve(truth, noise=truth.noise * size), 10, 1).train(
            np.zeros(3), plan(sources), 0, 0, after=False
        )
        for size in (1, 0)
    )

    assert (noisy.row_loss - plain.row_loss).std() / 10 == pytest.approx(0.25, rel=0.05)


def test_gradients_say_to_first_order_what_training_does(make):
    truth = make()
    progress = np.array([5.0, 2.0, 9.0])
    gradients = Learner(truth, 10, 1).gradients(progress, np.ones(3, bool), 0, tokens_per_step=1)
    by_training = np.array(
        [truth.loss(progress) - truth.loss(progress + 1e-4 * truth.transfer[:, i] / truth.unit) for i in range(3)]
    )

    assert gradients.heldout == pytest.approx(by_training / 1e-4, rel=1e-3)
    assert (gradients.train == gradients.train.T).all()
    assert np.linalg.eigvalsh(gradients.train).min() > -1e-12


def test_gradients_of_sources_that_are_not_active_are_unknown(make):
    gradients = Learner(make(), 10, 1).gradients(np.zeros(3), np.array([True, False, True]), 0, 1)

    assert np.isnan(gradients.train).tolist() == np.isnan(gradients.heldout).tolist()
    assert np.isnan(gradients.train[1]).all()
    assert np.isfinite(gradients.train[np.ix_([0, 2], [0, 2])]).all()


def test_equal_seeds_give_equal_runs_and_others_do_not(little):
    one, same, other = (Simulation.of(load(little, seed=seed), "transfer").run() for seed in (1, 1, 2))

    assert one.weights.tobytes() == same.weights.tobytes()
    assert one.mean.tobytes() == same.mean.tobytes()
    assert one.weights.tobytes() != other.weights.tobytes()


def test_the_final_losses_are_those_of_the_tokens_that_were_trained(staged):
    simulation = Simulation.of(load(staged), "transfer")
    trace = simulation.run()
    progress = simulation.truth.transfer @ (trace.rows.sum(0) * 8) / simulation.truth.unit

    assert trace.losses == pytest.approx(simulation.truth.loss(progress))
    assert trace.steps.sum() == len(trace.mean) - 1 == 300
    assert trace.rows.sum() == 1200


def test_regions_hold_and_what_a_stage_excludes_is_never_trained(staged):
    trace = Simulation.of(load(staged), "transfer").run()
    stages = np.array(trace.stages)

    assert not trace.rows[stages == "warmup", 1].any()
    assert (trace.weights[stages == "polish", 0] >= 0.5).all()
    assert (trace.weights[stages == "polish", 2] <= 0.2).all()


NEEDY = ["doge", "rb", "aioli", "ado", "odm", "skill_it", "learning_progress", "graves", "exp3"]


@pytest.mark.parametrize("policy", NEEDY)
def test_policies_that_need_more_than_training_losses_find_it(little, policy):
    trace = Simulation.of(load(little, settings=[f"policy={{use='{policy}'}}", "run.steps=2000"]), "transfer").run()

    assert np.isfinite(trace.mean).all()
    assert np.ptp(trace.weights, axis=0).max() > 0


@pytest.mark.parametrize("reward", ["prediction_gain", "heldout_gain", "gradient_alignment", "loss"])
def test_rewards_that_need_more_than_training_losses_find_it(little, reward):
    trace = Simulation.of(load(little, settings=[f"reward={{use='{reward}'}}"]), "transfer").run()

    assert np.ptp(trace.weights, axis=0).max() > 0


def parking(name, seed):
    """The trap's part of the second half of a run: its weight, and the bandit phases in which it is the heaviest."""
    loaded = load(SCENARIOS / f"{name}.toml", profile="laptop", seed=seed)
    trace = Simulation.of(loaded, "vertex_trap").run()
    trap = list(loaded.scenario.sources).index("repo-docs")
    late = np.cumsum(trace.steps) > trace.steps.sum() / 2
    bandit = late & (np.array(trace.policies) == "ucb1")
    led = (trace.weights[bandit].argmax(1) == trap).mean()
    distance = np.linalg.norm(trace.weights - np.eye(16)[trap], axis=1).min()
    share = trace.steps[late] @ trace.weights[late, trap] / trace.steps[late].sum()
    return share, led, distance, trace.final


SEEDS = (1, 2, 3)


def test_with_v1s_settings_the_bandit_parks_at_the_vertex_of_repo_docs():
    shares, led, distances, _ = np.array([parking("v1_collapse", seed) for seed in SEEDS]).T

    assert shares.mean() > 0.4
    assert led.mean() > 0.6
    assert distances.min() < 0.05


@pytest.mark.parametrize("name", ["v2_warmup", "v3_polish"])
def test_with_v2s_and_v3s_settings_it_does_not(name):
    shares, led, distances, losses = np.array([parking(name, seed) for seed in SEEDS]).T
    collapsed = np.array([parking("v1_collapse", seed) for seed in SEEDS])

    assert shares.mean() < 0.15
    assert led.mean() < 0.3
    assert distances.min() > 0.2
    assert losses.mean() < collapsed[:, 3].mean()  # v3 with the slow average ends above v1 in one seed of three


def noise_share(policy, truth, form="signed"):
    """The share of rows that pure noise gets in a race's run; equal weights give it 1/16."""
    settings = [f"policy={{use='{policy}'}}", f"reward.form={form}"]
    return Simulation.of(load(SCENARIOS / "race.toml", settings=settings), truth).run().shares[-1]


@pytest.mark.parametrize("policy", ["ucb1", "thompson", "exp3"])
def test_pure_noise_gets_less_than_its_equal_share_under_the_default_reward(policy):
    assert noise_share(policy, "noise") < 1 / 16


def test_what_follows_the_loss_and_andreas_own_reward_fall_for_noise():
    assert noise_share("loss_softmax", "unlearnable") > 0.5
    assert noise_share("odm", "unlearnable") > 1 / 16
    assert noise_share("ucb1", "noise", "andrea") > 0.3
