"""A policy that breaks its contract is refused in a simulation as in a run, and before its numbers are believed."""

import pytest

from andrea_core.errors import AndreaError, PluginError
from andrea_core.scenario import load
from andrea_core.simulator.race import Ground, check
from andrea_core.simulator.simulation import Simulation

IMPURE = """
import attrs, numpy as np
from andrea_core import hookimpl

calls = []

@attrs.frozen
class Policy:
    needs = frozenset()
    def start(self, sources): return 0
    def propose(self, state, moment, rng): return moment.region.centre
    def update(self, state, outcome): return state

class Counting(Policy):
    def propose(self, state, moment, rng):
        calls.append(1)
        return np.eye(3)[len(calls) % 3]

class Unseeded(Policy):
    def propose(self, state, moment, rng): return np.random.default_rng().dirichlet(np.ones(3))

class Seeded(Policy):
    def propose(self, state, moment, rng): return rng.dirichlet(np.ones(3))

class Begins(Policy):
    def start(self, sources): return {1: 2}

class Becomes(Policy):
    def update(self, state, outcome): return {1, 2}

@hookimpl
def andrea_policies():
    kinds = (Counting, Unseeded, Seeded, Begins, Becomes)
    return {kind.__name__.lower(): attrs.frozen(kind) for kind in kinds}
"""


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "impure.py"
    path.write_text(IMPURE, encoding="utf-8")
    return path


def simulated(little, plugin, policy):
    loaded = load(little, settings=(f'policy={{use="{policy}"}}',), plugins=(str(plugin),))
    return Simulation.of(loaded, "transfer").run()


@pytest.mark.parametrize("policy", ["counting", "unseeded"])
def test_a_policy_that_does_not_repeat_itself_is_refused_by_name(little, plugin, policy):
    with pytest.raises(PluginError, match=f"policy '{policy}' .* proposed other weights when it was asked a second"):
        simulated(little, plugin, policy)


def test_draws_from_the_given_generator_are_no_fault(little, plugin):
    assert simulated(little, plugin, "seeded").steps.sum() == 300


@pytest.mark.parametrize("policy", ["begins", "becomes"])
def test_a_state_that_no_checkpoint_keeps_is_refused_as_a_run_would(little, plugin, policy):
    with pytest.raises(PluginError, match=r"state\.policy holds a (dict|set), which no checkpoint can keep"):
        simulated(little, plugin, policy)


def test_a_race_refuses_such_a_state_before_its_first_run(little, plugin):
    with pytest.raises(AndreaError, match=r"policy begins: .*no checkpoint can keep"):
        check(Ground(little, "transfer", plugins=(str(plugin),)), ("begins",))
