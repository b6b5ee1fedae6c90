"""Reactive: stages in order, each ended by a rule over losses and probes (the polish pivot as a rule)."""

from typing import Any

import attrs
import numpy as np

from andrea_core import (
    ConstraintSet,
    Findings,
    Outcome,
    Sources,
    Stage,
    StageOptimizer,
    source_names,
    span,
)
from andrea_plugins.curricula.rules import Cliff, Memory, Plateau, Rule, Threshold

OPEN_END = 2**63 - 1
"""The border of a stage that lasts to the end of the run, whatever its length."""


def _bounds_in_order(spec: "ReactiveStage", _attribute: "attrs.Attribute[Any]", at_most: int | None) -> None:
    if at_most is not None and at_most < spec.at_least:
        raise ValueError(f"at_most must be at least at_least, {spec.at_least} steps, got {at_most}")


@attrs.frozen
class ReactiveStage:
    """One stage of the list: it ends when one of its rules says so, after `at_least` and at most `at_most` steps.

    The rules are `cliff`, `plateau` and `probe`; the first that holds at the end of a phase ends the stage there. What
    a rule sees before `at_least` steps is remembered but ends nothing. `sources` are the ones that may receive mass,
    all if left out; `constraints` and what `optimizer` changes hold in this stage only.
    """

    name: str = attrs.field()
    at_least: int = span(default=1, at_least=1)
    at_most: int | None = attrs.field(
        default=None, validator=_bounds_in_order, metadata=dict(span(default=None).metadata)
    )
    sources: tuple[str, ...] | None = source_names(default=None)
    constraints: tuple[ConstraintSet, ...] = ()
    cliff: Cliff | None = None
    plateau: Plateau | None = None
    probe: Threshold | None = None
    optimizer: StageOptimizer | None = None

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that may end the stage."""
        given: tuple[Rule | None, ...] = (self.cliff, self.plateau, self.probe)
        return tuple(rule for rule in given if rule is not None)


def _can_end(_curriculum: "Reactive", _attribute: "attrs.Attribute[Any]", stages: tuple[ReactiveStage, ...]) -> None:
    if not stages:
        raise ValueError("needs at least one stage")
    for spec in stages[:-1]:
        if not spec.rules and spec.at_most is None:
            raise ValueError(f"stage {spec.name!r} never ends; give it a cliff, a plateau, a probe, or at_most")
    last = stages[-1]
    if last.rules or last.at_most is not None:
        raise ValueError(
            f"stage {last.name!r} is the last and lasts to the end of the run; leave its rules and at_most out"
        )


def _sound_names(
    _curriculum: "Reactive", _attribute: "attrs.Attribute[Any]", stages: tuple[ReactiveStage, ...]
) -> None:
    names = [spec.name for spec in stages]
    for spec in stages:
        if names.count(spec.name) > 1:
            raise ValueError(f"two stages are called {spec.name!r}; give each a name of its own")
        if spec.sources is not None and len(set(spec.sources)) != max(1, len(spec.sources)):
            raise ValueError(f"stage {spec.name!r} must name at least one source, and none twice")


@attrs.frozen(eq=False)
class Course:
    """How far a run has come: the present stage, where each began, why, and what the rules remember."""

    present: int
    starts: Any  # (stages,) int64: the step at which each stage began, -1 for those to come
    reasons: tuple[str, ...]
    memory: tuple[tuple[Memory, ...], ...]


@attrs.frozen
class Reactive:
    """Walk through `stages` in order; a stage ends at the first phase border at which one of its rules holds.

    Source: ANDREA's polish pivot (loss cliff at step 112,080, new caps and floors by hand at step 112,619) and its
    coherence gate, as rules instead of a hand on a switch; the reason is an event of the record.
    `at_least` and `at_most` count steps from the stage's own start; a stage without rules lasts `at_most` steps, the
    last one to the end. Before a run starts, the region of every stage is checked at the earliest and the latest step
    at which it can be reached; the plan that `andrea show` prints gives both.
    """

    stages: tuple[ReactiveStage, ...] = attrs.field(validator=[_can_end, _sound_names])

    @property
    def watches(self) -> frozenset[str]:
        """The names of the probes that the rules read."""
        return frozenset(name for name, _ in self.reads)

    @property
    def reads(self) -> frozenset[tuple[str, str]]:
        """The probes that the rules read, each with its measurement."""
        flat = ((one.probe, one.measurement) for spec in self.stages if (one := spec.plateau) is not None)
        named = [(name, measurement) for name, measurement in flat if name is not None]
        rules = (spec.probe for spec in self.stages if spec.probe is not None)
        return frozenset([*named, *((rule.name, rule.measurement) for rule in rules)])

    def start(self, sources: Sources) -> Course:
        """Return the course at step 0."""
        memory = tuple(tuple(rule.start(sources) for rule in spec.rules) for spec in self.stages)
        starts = np.full(len(self.stages), -1, np.int64)
        starts[0] = 0
        return Course(0, starts, ("",) * len(self.stages), memory)

    def stage(self, state: Course, step: int) -> Stage:
        """Return the stage of a step; for a step to come, the one that it will be in if no rule ends a stage."""
        start = 0
        for index, spec in enumerate(self.stages):
            if index < state.present:
                until = int(state.starts[index + 1])
            else:
                until = OPEN_END if spec.at_most is None else start + spec.at_most
            if step < until:
                break
            start = until
        return Stage(spec.name, start, until, spec.sources, spec.constraints, state.reasons[index], spec.optimizer)

    def update(self, state: Course, outcome: Outcome, findings: Findings) -> Course:
        """Return the course after a phase: in the next stage, if a rule or the clock ended this one."""
        now = state.present
        spec = self.stages[now]
        looked = [
            rule.look(memory, outcome, findings) for rule, memory in zip(spec.rules, state.memory[now], strict=True)
        ]
        memory = (*state.memory[:now], tuple(after for after, _ in looked), *state.memory[now + 1 :])
        reason = self._ending(spec, outcome.step - int(state.starts[now]), [why for _, why in looked if why])
        if not reason or now == len(self.stages) - 1:
            return attrs.evolve(state, memory=memory)
        starts = state.starts.copy()
        starts[now + 1] = outcome.step
        reasons = (*state.reasons[: now + 1], reason, *state.reasons[now + 2 :])
        return Course(now + 1, starts, reasons, memory)

    def _ending(self, spec: ReactiveStage, lasted: int, reasons: list[str]) -> str:
        """Return why a stage ends after the steps that it lasted; an empty text when it goes on."""
        if reasons and lasted >= spec.at_least:
            return reasons[0]
        if spec.at_most is not None and lasted >= spec.at_most:
            return f"{spec.name} has lasted its {spec.at_most} steps"
        return ""

    def possible(self, steps: int) -> tuple[Stage, ...]:
        """Return every stage with the earliest step at which it may begin and the latest at which it may end."""
        found, early, late = [], 0, 0
        for spec in self.stages:
            longest = OPEN_END if spec.at_most is None else spec.at_most
            late = min(OPEN_END, late + longest)
            found.append(Stage(spec.name, early, late, spec.sources, spec.constraints, optimizer=spec.optimizer))
            early = min(OPEN_END - 1, early + (spec.at_least if spec.rules else longest))
        return tuple(found)
