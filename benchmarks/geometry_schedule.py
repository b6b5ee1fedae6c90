"""The decisions of a whole run without its training: every phase of a schedule, by the core's own code."""

import time
from itertools import count
from pathlib import Path

import attrs
import numpy as np
from geometry_report import Report, median

from andrea_core.data.sampler import PhasePlan, Sampler, SamplerState
from andrea_core.data.stream import PackedStream
from andrea_core.phase import Director, Phase, State
from andrea_core.scenario import load
from andrea_core.simplex import Region
from andrea_core.values import Findings, Observation, Sources

SCENARIO = Path(__file__).parents[1] / "scenarios" / "v3_polish.toml"
CONTEXT = 64
FRESH = count()
DECIDE, CHECK, UPDATE = "decide: region, policy, projection", "check", "update of the policy"
LEARN = "reward and bookkeeping"


class NoRows(Sampler):
    """Plans a phase as one row of each source with weight: what is measured is the decision, not the reading."""

    def plan(self, state, weights, active, steps, rng):
        source = np.flatnonzero(weights > 0)[None]
        drawn = state.position + np.bincount(source[0], minlength=len(weights))
        return PhasePlan(source, source, SamplerState(drawn, state.carry, active))


def schedule(report: Report) -> None:
    report.title("200,000 steps of v3_polish, decisions only")
    decided = _run(NoRows)
    whole = _run(Sampler)
    report.say("phases", f"{decided.phases}, {decided.steps} steps, 16 sources; every decision checked")
    for name, spent in decided.spent.items():
        report.say(name, f"{spent / decided.phases * 1e6:8.1f} us a phase")
    asked = sum(spent for name, spent in decided.spent.items() if name != LEARN)
    report.at_most("region, policy, projection, check", asked, 3.0, " s")
    report.say("the same with rewards", f"{asked + decided.spent[LEARN]:.2f} s")
    report.say("the same with every row planned", f"{sum(whole.spent.values()):.2f} s")
    _growth(report)


@attrs.define
class Walk:
    phases: int = 0
    steps: int = 0
    spent: dict[str, float] = attrs.field(factory=lambda: dict.fromkeys((DECIDE, CHECK, UPDATE, LEARN), 0.0))


def _run(kind: type[Sampler]) -> Walk:
    director = _director(kind)
    state, walk, rng = director.start(), Walk(), np.random.default_rng(5)
    while state.step < director.scenario.run.steps:
        start = time.process_time()
        phase = director.decide(state)
        decided = time.process_time()
        assert phase.region.check(phase.landed.weights) == []
        checked = time.process_time()
        observation = _observe(state, phase, rng)
        begun = time.process_time()
        after, outcome, _ = director.learn(state, phase, observation)
        after = director.advance(after, outcome, Findings({}))
        learned = time.process_time()
        director.scenario.policy.component.update(state.policy, outcome)  # once more, to know its part
        updated = time.process_time() - learned
        walk.spent[DECIDE] += decided - start
        walk.spent[CHECK] += checked - decided
        walk.spent[UPDATE] += updated
        walk.spent[LEARN] += learned - begun - updated
        state = after
        walk.phases += 1
    walk.steps = state.step
    return walk


def _director(kind: type[Sampler]) -> Director:
    loaded = load(SCENARIO, profile="full")
    names = tuple(loaded.scenario.sources)
    offsets = np.array([0, 100_000])
    tokens = np.zeros(100_000, np.uint16)
    streams = [PackedStream(name, tokens, offsets, separator=0, context=CONTEXT, seed=1) for name in names]
    sources = Sources(names, np.array([stream.epoch_tokens for stream in streams]))
    return Director.of(loaded, sources, kind(loaded.scenario.sampler, streams))


def _observe(state: State, phase: Phase, rng: np.random.Generator) -> Observation:
    """Return made-up losses of the phase's rows, falling slowly and noisily."""
    source = phase.plan.source
    tokens = np.full(source.shape, CONTEXT)
    loss = tokens * (2.0 + 3.0 / (1.0 + state.step / 2e4) + 0.1 * rng.normal(size=source.shape))
    return Observation(loss, tokens, source, phase.landed.weights, state.step + phase.steps)


def _growth(report: Report) -> None:
    """The cost of a phase's geometry by the number of sources: region, draw or vertex, projection, check."""
    sizes = (100, 1000, 10_000)
    spent = [min(median(lambda n=n: _phase(n), 3) for _ in range(2)) for n in sizes]
    for n, time_ in zip(sizes, spent, strict=True):
        report.say(f"a phase's geometry at n = {n}", f"{time_ * 1e3:8.2f} ms")
    for k in (0, 1):
        small, large = sizes[k], sizes[k + 1]
        allowed = large * np.log(large) / (small * np.log(small))
        report.at_most(f"growth from n = {small} to {large}", spent[k + 1] / spent[k], float(allowed))


def _phase(n: int) -> None:
    """Decide on a region that was never seen before, so that nothing about it is remembered."""
    names = [f"s{i}" for i in range(n)]
    floors = {"s0": 0.3 + 1e-9 * next(FRESH)}
    region = Region.of(names, floors).restrict(caps=dict.fromkeys(names[1 : n // 2], 8.0 / n), exclude=names[-9:])
    rng = np.random.default_rng(n)
    drawn = region.sample(rng)
    target = 0.5 * (drawn + region.vertex(rng.normal(size=n)))
    w = region.project(target + rng.normal(size=n) / n)
    assert region.check(w) == []
