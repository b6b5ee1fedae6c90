"""A bandit's walk on the simplex, as a state machine: rules in any order keep the two invariants, and replay."""

import math

import numpy as np
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from andrea_core.errors import InfeasibleRegion
from andrea_core.runs.tree import flatten, restore
from andrea_core.simplex import Region
from andrea_core.testing.certificates import assert_member
from andrea_core.testing.geometry import feasible_bounds

ETAS = (1e-6, 1e-3, 0.1, 1.0, 10.0)


class Walk(RuleBasedStateMachine):
    """`bounds` are (floors, caps, excluded) as stated now; `log` holds what each rule did, enough to do it again."""

    @initialize(stated=feasible_bounds(min_sources=2, max_sources=9))
    def start(self, stated):
        self.names = stated.names
        self.bounds = (dict(stated.floors), dict(stated.caps), frozenset(stated.exclude))
        self.region = region_of(self.names, self.bounds)
        self.first = self.bounds
        self.weights = self.region.centre.copy()
        self.log = []
        self.trail = [self.weights.tobytes()]

    def step(self, move):
        """Do a move and remember it; a reopened or tightened region projects the weights, as the core does."""
        before = self.weights
        self.bounds, self.weights = applied(self.names, self.bounds, before, move)
        self.region = region_of(self.names, self.bounds)
        self.log.append(move)
        self.trail.append(self.weights.tobytes())
        return before

    def numbers(self, data, low, high):
        count = len(self.names)
        return np.array(data.draw(st.lists(st.floats(low, high), min_size=count, max_size=count)))

    @rule(data=st.data(), eta=st.sampled_from(ETAS))
    def reward_step(self, data, eta):
        reward = self.numbers(data, -1, 1)
        before = self.step(("euclidean", eta * reward))
        # A projection moves no farther than what it projects: the length of a step is bounded by that of its wish.
        assert np.linalg.norm(self.weights - before) <= eta * np.linalg.norm(reward) + 1e-15 * len(before)

    @rule(data=st.data())
    def multiplicative_step(self, data):
        self.step(("multiplicative", self.numbers(data, -50, 50)))

    @rule(data=st.data(), share=st.sampled_from((0.0, 0.3, 0.9, 1.0)))
    def tighten_a_cap(self, data, share):
        i = data.draw(st.integers(0, len(self.names) - 1))
        low, high = float(self.region.lower[i]), float(self.region.upper[i])
        self.try_bounds(caps={self.names[i]: min(high, low + share * (high - low))})

    @rule(data=st.data())
    def exclude(self, data):
        self.try_bounds(exclude={data.draw(st.sampled_from(self.names))})

    @rule(data=st.data())
    def reopen(self, data):
        name = data.draw(st.sampled_from(self.names))
        floors, caps, excluded = self.bounds
        self.step(("bounds", (floors, {k: v for k, v in caps.items() if k != name}, excluded - {name})))

    @rule(data=st.data(), gamma=st.sampled_from((1e-9, 0.1, 0.5, 1.0)))
    def frank_wolfe_step(self, data, gamma):
        scores = self.numbers(data, -10, 10)
        before = self.step(("frank-wolfe", (scores, gamma)))
        vertex = self.region.vertex(scores)
        assert np.abs(self.weights - (before + gamma * (vertex - before))).max() <= 1e-15 * len(before)
        assert scores @ self.weights >= scores @ before - 1e-13

    @rule(seed=st.integers(0, 2**32 - 1))
    def teleport(self, seed):
        self.step(("draw", seed))

    @rule()
    def save_and_load(self):
        arrays = {}
        kept = flatten(self.weights, "weights", arrays)
        stored = {name: np.frombuffer(array.tobytes(), array.dtype) for name, array in arrays.items()}
        self.weights = np.array(restore(kept, stored, self.weights))
        assert self.weights.tobytes() == self.trail[-1]

    def try_bounds(self, caps=None, exclude=frozenset()):
        floors, old, excluded = self.bounds
        bounds = (floors, old | (caps or {}), excluded | exclude)
        try:
            region_of(self.names, bounds)
        except InfeasibleRegion:
            return
        self.step(("bounds", bounds))

    @invariant()
    def weights_are_members(self):
        assert_member(self.region, self.weights)
        stated = np.array([self.bounds[1].get(name, 1.0) for name in self.names])
        assert (self.weights <= stated).all()
        assert (self.weights >= np.array([self.bounds[0].get(name, 0.0) for name in self.names])).all()

    @invariant()
    def excluded_sources_are_positive_zero(self):
        out = np.array([self.bounds[1].get(name) == 0.0 or name in self.bounds[2] for name in self.names])
        assert (self.weights[out] == 0.0).all()
        assert not np.signbit(self.weights[out]).any()

    def teardown(self):
        """Replay the log from the start: the same bits at every step."""
        if not hasattr(self, "log"):
            return
        bounds = self.first
        weights = region_of(self.names, bounds).centre.copy()
        trail = [weights.tobytes()]
        for move in self.log:
            bounds, weights = applied(self.names, bounds, weights, move)
            trail.append(weights.tobytes())
        assert trail == self.trail


def region_of(names, bounds):
    floors, caps, excluded = bounds
    return Region.of(names, floors, caps, excluded)


def applied(names, bounds, weights, move):
    """Return bounds and weights after a move: a pure function, so that a log of moves is a walk."""
    kind, what = move
    if kind == "bounds":
        return what, region_of(names, what).project(weights)
    region = region_of(names, bounds)
    if kind == "euclidean":
        return bounds, region.project(weights + what)
    if kind == "multiplicative":
        logs = np.log(np.maximum(weights, 1e-300)) + what
        pulled = np.where(region.upper > 0, np.exp(logs - logs.max()), 0.0)
        return bounds, region.project(pulled, "kl")
    if kind == "frank-wolfe":
        scores, gamma = what
        return bounds, region.project(weights + gamma * (region.vertex(scores) - weights))
    return bounds, region.sample(np.random.default_rng(what))


class TestWalk(Walk.TestCase):
    settings = settings(max_examples=40, stateful_step_count=15, deadline=None)


def test_a_walk_that_renormalises_leaves_the_region_somewhere():
    """The naive step, clip and divide by the sum, breaks a bound or the sum on the same kind of walk."""
    rng = np.random.default_rng(0)
    broken = 0
    for _ in range(300):
        names = [f"s{i}" for i in range(12)]
        witness = rng.dirichlet(np.ones(12))
        region = Region.of(names, caps=dict(zip(names, np.minimum(1, 1.3 * witness), strict=True)))
        w = np.clip(witness + 0.1 * rng.normal(size=12), region.lower, region.upper)
        w /= w.sum()
        broken += bool((w > region.upper).any() or math.fsum(w) != 1.0)
    assert broken > 30
