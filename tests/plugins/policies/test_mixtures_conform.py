"""Every mixture policy keeps the contract: hostile worlds, one source, ten thousand, any order, real text."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from mixtures import moment_of, sources_of

from andrea_core import Outcome, Proposal, Region
from andrea_core.assembly import new_run
from andrea_core.progress import Progress
from andrea_core.runs.store import open_run
from andrea_core.scenario import load
from andrea_core.testing import check_policy
from andrea_core.testing.worlds import REWARDS, draw_observation
from andrea_plugins.policies import (
    Ado,
    Aioli,
    Doremi,
    Dump,
    Graves,
    LearningProgress,
    LossSoftmax,
    Odm,
    SkillIt,
)

POLICIES = {
    "odm": lambda names: Odm(),
    "odm, released": lambda names: Odm("released", signal="heldout"),
    "odm, exp3": lambda names: Odm("exp3", signal="reward", warmup=60, initial={names[0]: 1.0}),
    "graves": lambda names: Graves(eta=0.5, beta=0.1),
    "learning_progress": lambda names: LearningProgress(),
    "learning_progress, online": lambda names: LearningProgress("online", "boltzmann", "reward", absolute=False),
    "dump": lambda names: Dump(window=20),
    "loss_softmax": lambda names: LossSoftmax(reference=dict.fromkeys(names, 2.0), smoothing=0.5),
    "doremi": lambda names: Doremi(dict.fromkeys(names, 2.0)),
    "doremi, sheared": lambda names: Doremi(
        dict.fromkeys(names, 2.0), "sheared", act_on="mean", missing="skip", signal="heldout", initial={names[0]: 1.0}
    ),
    "skill_it": lambda names: SkillIt(graph={names[0]: {names[-1]: 0.5}}, prior={names[0]: 1.0, names[-1]: 0.1}),
    "aioli": lambda names: Aioli(lp_rounds=1, every=10),
    "aioli, averaged": lambda names: Aioli(lp_rounds=1, lp_steps=1, ema=0.1, prior={names[0]: 1.0}, signal="training"),
    "ado": lambda names: Ado(start_at=100, ignore=0, refit=100),
    "ado, all tokens": lambda names: Ado(start_at=0, ignore=0, refit=200, count="all", prior={names[0]: 1.0}),
}
ORDERLY = [name for name in POLICIES if not name.startswith("aioli")]
SETTINGS = {
    "odm": 'mode = "released", warmup = 5, initial = { birds = 0.5, ships = 0.5 }',
    "graves": "eta = 0.1",
    "learning_progress": 'form = "online", exploration = "boltzmann"',
    "dump": "window = 5, absolute = false",
    "loss_softmax": "reference = { birds = 1, clocks = 2.5, ships = 2 }",
    "doremi": 'reference = { birds = 1, clocks = 2.5, ships = 2 }, form = "sheared", act_on = "mean"',
    "skill_it": "graph = { birds = { ships = 0.5 } }, eta = 0.2, window = 2",
    "aioli": "lp_rounds = 1, lp_steps = 2, every = 5, ema = 0.1",
    "ado": "start_at = 10, ignore = 0, refit = 10",
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("names", [("a", "b", "c", "d"), ("a",)])
def test_the_conformance_check_passes(name, names):
    check_policy(POLICIES[name](names), names)


def test_only_aioli_depends_on_the_order_of_sources():
    assert all(POLICIES[name](("a", "b")).traits.equivariant == (name in ORDERLY) for name in POLICIES)
    assert all(POLICIES[name](("a", "b")).traits.pull == "mixed" for name in POLICIES)


def told(weights, number, rng, order=None):
    """What a phase of odd losses and rewards taught, its sources perhaps renamed."""
    count = len(weights)
    order = np.arange(count) if order is None else order
    base = draw_observation(np.ones(count), 20 * (number + 1), rng, ("heldout",))
    size = REWARDS[number % len(REWARDS)] * (1.0 - 0.5 * rng.random(count))
    names = np.argsort(order)[base.source]
    shown = type(base)(base.loss, base.tokens, names, weights, base.step, base.heldout[order])
    tokens = shown.tokens_by_source()
    seen = (tokens > 0) & (number % 5 != 4)
    reward = np.where(seen, size[order], 0.0)
    return Outcome(shown.step, number, weights, tokens / tokens.sum(), reward, seen, shown.loss_by_source(), shown)


@pytest.mark.parametrize("name", ORDERLY)
@given(order=st.permutations(range(5)), seed=st.integers(0, 2**16))
def test_renaming_the_sources_renames_the_weights(name, order, seed):
    names, order = tuple(f"s{k}" for k in range(5)), np.array(order)
    policy, answers = POLICIES[name](names), []
    for renamed in (np.arange(5), order):
        rng = np.random.default_rng(seed)
        region = Region.of([names[k] for k in renamed])
        sources = moment_of(region).sources
        state, weights = policy.start(sources), np.full(5, 0.2)
        for number in range(9):
            moment = moment_of(region, weights, number, 20 * number)
            proposal = policy.propose(state, moment, rng)
            weights = proposal.target / proposal.target.sum()
            state = policy.update(state, told(weights, number, rng, renamed))
        answers.append(weights)

    assert answers[1] == pytest.approx(answers[0][order], abs=1e-6)


@pytest.mark.parametrize("name", POLICIES)
def test_ten_thousand_sources_get_finite_weights_and_closed_ones_none(name):
    names = tuple(f"s{k}" for k in range(10_000))
    policy, rng = POLICIES[name](names), np.random.default_rng(0)
    if name.startswith("skill_it"):
        policy = SkillIt(prior={"s0": 1.0, "s1": 0.5})  # a graph of that size has 800 MB
    region = Region.of(names, exclude=names[5000:])
    state, weights = policy.start(sources_of(0, names)), region.centre
    for number in range(4):
        answer = policy.propose(state, moment_of(region, weights, number, 20 * number), rng)
        assert isinstance(answer, Proposal)
        assert np.isfinite(answer.target).all()
        assert answer.target.min() >= 0
        assert not answer.target[5000:].any()
        weights = answer.target / answer.target.sum()
        state = policy.update(state, told(weights, number, rng))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_scenario_names_it_with_its_settings_and_trains(name, tiny, tmp_path):
    text = tiny.read_text(encoding="utf-8")
    begin, end = text.index("[policy]"), text.index("[[probes]]")
    tiny.write_text(f"{text[:begin]}{text[end:]}", encoding="utf-8")
    written = f'policy = {{ use = "{name}", {SETTINGS[name]} }}\n'
    tiny.write_text(written + tiny.read_text(encoding="utf-8"), encoding="utf-8")
    experiment = new_run(load(tiny), tmp_path / "run", Progress(), device="cpu", threads=1)
    try:
        experiment.run()
    finally:
        experiment.folder.release()
    record = open_run(tmp_path / "run")

    assert set(record.phases.decoded("policy")) == {name}
    assert np.isfinite(record.phases["weights"]).all()
