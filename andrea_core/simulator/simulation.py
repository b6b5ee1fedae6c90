"""The loop of a simulated run: the Director decides and learns as in a real one, the learner stands for the model."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from andrea_core.contracts import Reward, Watching
from andrea_core.errors import ScenarioError
from andrea_core.looking import due, ended
from andrea_core.phase import Director, Event, Phase, State
from andrea_core.plan import Plan, probe_names
from andrea_core.runs.tree import prove
from andrea_core.scenario import Loaded, ProbeSlot
from andrea_core.simulator.learner import Learner, Lesson
from andrea_core.simulator.purity import decided, started
from andrea_core.simulator.supply import supplied
from andrea_core.simulator.truth import Truth
from andrea_core.simulator.truth_file import Extent, truth_of
from andrea_core.stopwatch import Stopwatch
from andrea_core.values import Findings, Measurement, Outcome, Sources, Stage, Vector
from andrea_core.watching import for_each_source

HELDOUT = "heldout"
"""The one probe that a simulated run answers: it needs losses only."""


@attrs.frozen(eq=False)
class Done:
    """A finished phase, for whoever records it."""

    before: State
    after: State
    phase: Phase
    lesson: Lesson
    outcome: Outcome
    events: Sequence[Event]
    watch: Stopwatch


@attrs.frozen(eq=False)
class Trace:
    """A simulated run in numbers: one entry a phase, and the true mean loss of the targets after each step.

    `weights` (phases, K) were in force, `rows` (phases, K) were drawn, `steps` (phases,) long; `stages` and `policies`
    name the stage of each, and who chose its weights.
    `walked` are the phases' stages as the curriculum gave them, `lower` and `upper` (phases, K) the bounds in force.
    `losses` (K,) are the true losses at the end, `mean` (steps + 1,) begins before the first step.
    """

    steps: Vector
    stages: tuple[str, ...]
    policies: tuple[str, ...]
    weights: Vector
    rows: Vector
    losses: Vector
    mean: Vector
    walked: tuple[Stage, ...]
    lower: Vector
    upper: Vector
    stopped: str | None = None

    @property
    def final(self) -> float:
        """The mean loss of the targets at the end, nats a token."""
        return float(self.mean[-1])

    @property
    def shares(self) -> Vector:
        """(K,) each source's share of all rows."""
        return np.asarray(self.rows.sum(0) / self.rows.sum())


@attrs.frozen(eq=False, slots=False)
class Simulation:
    """A scenario with a learner of known truth."""

    loaded: Loaded
    truth: Truth
    director: Director
    learner: Learner
    tokens_per_step: int

    @classmethod
    def of(cls, loaded: Loaded, asked: str) -> "Simulation":
        """Return the simulation of a scenario with the truth that is asked for; raises ScenarioError."""
        Plan.of(loaded).check()
        scenario = loaded.scenario
        _refuse_unanswered(scenario.reward)
        context = scenario.model.resolve().context
        per_step = scenario.sampler.rows * context
        names = tuple(scenario.sources)
        truth = truth_of(asked, Extent(names, scenario.run.steps, per_step))
        sources = Sources(names, truth.tokens)
        director = Director.of(loaded, sources, supplied(scenario.sampler, truth, context))
        return cls(loaded, truth, director, Learner(truth, context, scenario.seed), per_step)

    @cached_property
    def needs(self) -> frozenset[str]:
        """What policy and reward ask for."""
        scenario = self.loaded.scenario
        return frozenset(scenario.policy.component.needs | scenario.reward.needs)

    @cached_property
    def answered(self) -> list[tuple[str, ProbeSlot]]:
        """The probes that can be answered without a model, and their names in the record."""
        scenario = self.loaded.scenario
        named = zip(probe_names(scenario, self.loaded.catalogue), scenario.probes, strict=True)
        return [(name, slot) for name, slot in named if name.partition("-")[0] == HELDOUT]

    def run(
        self,
        record: Callable[[Done], None] = lambda done: None,
        look: Callable[[int, Findings], None] = lambda step, findings: None,
    ) -> Trace:
        """Simulate to the end, or until a probe wants to stop; `record` is given each phase, `look` all findings."""
        begun = state = started(self.director)
        progress = self.learner.start()
        total, watch = self.loaded.scenario.run.steps, Stopwatch()
        kept = Kept()
        findings = self._findings(state, None, progress)
        look(0, findings)
        while state.step < total and findings.stop is None:
            with watch.on("data"):
                phase = decided(self.director, state)
            with watch.on("model"):
                lesson = self._trained(state, phase, progress)
                progress = lesson.progress
            with watch.on("policy"):
                before, (state, outcome, odd) = state, self._learnt(state, phase, lesson, total)
            findings = self._findings(state, phase, progress)
            look(state.step, findings)
            state = self.director.advance(state, outcome, findings)
            if state.phase == 1:  # what a policy makes of its first outcome, too
                prove(state, begun, "state")
            record(Done(before, state, phase, lesson, outcome, [*phase.events, *odd], watch))
            kept.add(phase, lesson, outcome)
        return kept.trace(self.truth, progress, findings.stop)

    def _trained(self, state: State, phase: Phase, progress: Vector) -> Lesson:
        after = "loss_after" in self.needs
        return self.learner.train(progress, phase.plan, state.step, state.phase, after=after)

    def _learnt(self, state: State, phase: Phase, lesson: Lesson, total: int) -> tuple[State, Outcome, list[Event]]:
        needs, step = self.needs, state.step + phase.steps
        gradients = None
        if "source_gradients" in needs:
            active = phase.plan.after.active
            gradients = self.learner.gradients(lesson.progress, active, step, self.tokens_per_step)
        weights = phase.landed.weights
        seen = self.learner.observed(lesson, phase.plan, weights, step, gradients, heldout="heldout" in needs)
        return self.director.learn(state, phase, attrs.evolve(seen, probed=self._probed(state, phase, lesson, total)))

    def _probed(self, state: State, phase: Phase, lesson: Lesson, total: int) -> Vector | None:
        """Return what the probe that the reward watches finds (K,), NaN where it is not due; None where none is."""
        reward = self.loaded.scenario.reward
        if not isinstance(reward, Watching):
            return None
        found = self._findings(ended(state, phase), phase, lesson.progress).measured.get(reward.watches[0])
        count = len(self.director.sources)
        return np.full(count, np.nan) if found is None else for_each_source(found, reward.watches, count)

    def _findings(self, state: State, phase: Phase | None, progress: Vector) -> Findings:
        """Return what probes of held-out loss find: the truth, where a token counts as a byte."""
        total = self.loaded.scenario.run.steps
        looking = [name for name, slot in self.answered if due(slot, state.step, phase, total)]
        if not looking:
            return Findings({})
        bits = self.truth.loss(progress) / np.log(2.0)
        return Findings({name: {"bits_per_byte": Measurement(bits)} for name in looking})


def _refuse_unanswered(reward: Reward[Any]) -> None:
    if isinstance(reward, Watching) and reward.watches[0].partition("-")[0] != HELDOUT:
        raise ScenarioError(
            f"reward: the probe {reward.watches[0]!r} needs a model, which a simulated run has not; take another "
            f"reward, as --set 'reward={{use=\"heldout_gain\"}}', or the probe {HELDOUT!r}"
        )


@attrs.define(eq=False)
class Kept:
    """What a trace is made of, as it comes."""

    steps: list[int] = attrs.field(factory=list)
    stages: list[str] = attrs.field(factory=list)
    policies: list[str] = attrs.field(factory=list)
    weights: list[Vector] = attrs.field(factory=list)
    rows: list[Any] = attrs.field(factory=list)
    walked: list[Stage] = attrs.field(factory=list)
    lower: list[Vector] = attrs.field(factory=list)
    upper: list[Vector] = attrs.field(factory=list)
    mean: list[Vector] = attrs.field(factory=list)

    def add(self, phase: Phase, lesson: Lesson, outcome: Outcome) -> None:
        """Take a finished phase."""
        self.steps.append(phase.steps)
        self.stages.append(phase.stage.name)
        self.policies.append(phase.policy)
        self.weights.append(phase.landed.weights)
        self.rows.append(outcome.observation.rows_by_source())
        self.mean.append(lesson.mean)
        self.walked.append(phase.stage)
        self.lower.append(phase.region.lower)
        self.upper.append(phase.region.upper)

    def trace(self, truth: Truth, progress: Vector, stopped: str | None) -> Trace:
        """Return all of it as arrays."""
        count = len(truth)
        first = np.array([truth.mean(np.zeros(count))])
        return Trace(
            steps=np.array(self.steps, np.float64),
            stages=tuple(self.stages),
            policies=tuple(self.policies),
            weights=np.array(self.weights, np.float64).reshape(-1, count),
            rows=np.array(self.rows, np.float64).reshape(-1, count),
            losses=truth.loss(progress),
            mean=np.concatenate([first, *self.mean]),
            walked=tuple(self.walked),
            lower=np.array(self.lower, np.float64).reshape(-1, count),
            upper=np.array(self.upper, np.float64).reshape(-1, count),
            stopped=stopped,
        )
