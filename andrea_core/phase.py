"""One phase, from decision to lesson: region, landed wish, plan of rows, reward, updates."""

from typing import Any

import attrs
import numpy as np

from andrea_core.data.sampler import PhasePlan, Sampler, SamplerState
from andrea_core.guard import Blame, Landed, blaming, land
from andrea_core.plugins import SINGULAR, Catalogue
from andrea_core.rng import generator
from andrea_core.scenario import Loaded, Scenario
from andrea_core.simplex import Region
from andrea_core.terrain import region_of
from andrea_core.values import Context, Findings, Ledger, Moment, Observation, Outcome, Sources, Stage, Vector

Event = tuple[str, str]


@attrs.frozen(eq=False)
class State:
    """Everything that a phase border passes on: a checkpoint is this, the model, and the phase's rows so far."""

    step: int
    phase: int
    stage: str
    weights: Vector | None
    trained: np.ndarray[Any, Any]
    sampler: SamplerState
    curriculum: Any
    policy: Any
    reward: Any
    probes: tuple[Any, ...]


@attrs.frozen(eq=False)
class Phase:
    """A decided phase: its stage and region, the weights and who chose them, and the plan of its rows."""

    stage: Stage
    region: Region
    landed: Landed
    policy: str
    steps: int
    plan: PhasePlan
    events: tuple[Event, ...]


@attrs.frozen(eq=False)
class Director:
    """Decides phases and learns from them: pure functions of the state, the scenario and the seed."""

    scenario: Scenario
    catalogue: Catalogue
    sources: Sources
    sampler: Sampler

    @classmethod
    def of(cls, loaded: Loaded, sources: Sources, sampler: Sampler) -> "Director":
        """Return the director of a loaded scenario."""
        return cls(loaded.scenario, loaded.catalogue, sources, sampler)

    def start(self) -> State:
        """Return the state before the first phase."""
        scenario, sources = self.scenario, self.sources
        return State(
            step=0,
            phase=0,
            stage="",
            weights=None,
            trained=np.zeros(len(sources), np.int64),
            sampler=self.sampler.start(),
            curriculum=scenario.curriculum.start(sources),
            policy=scenario.policy.component.start(sources),
            reward=scenario.reward.start(sources),
            probes=tuple(slot.component.start(sources) for slot in scenario.probes),
        )

    def decide(self, state: State) -> Phase:
        """Return the next phase. The same state gives the same phase, so a resume may ask again."""
        scenario, seed = self.scenario, self.scenario.seed
        with blaming(self.blame("curricula", scenario.curriculum, state, state.stage)):
            stage = scenario.curriculum.stage(state.curriculum, state.step)
        context = self._context(state, stage)
        region, weights = region_of(stage, scenario.constraints, context, state.weights)
        moment = Moment(state.step, state.phase, stage.name, self.sources, region, weights, context.ledger)
        landed = self._landed(state, moment)
        with blaming(self.blame("phases", scenario.phases, state, stage.name)):
            wished = scenario.phases.length(context, generator(seed, "phases", state.phase))
        steps = min(landed.proposal.steps or wished, context.stage_until - state.step)
        if steps < 1:
            raise self.blame("phases", scenario.phases, state, stage.name).fault(f"gave a phase of {wished!r} steps")
        rng = generator(seed, "draw", state.phase)
        plan = self.sampler.plan(state.sampler, landed.weights, moment.active, steps, rng)
        name = landed.proposal.acted or self.catalogue.name_of("policies", scenario.policy.component)
        return Phase(stage, region, landed, name, steps, plan, self._events(state, stage, moment))

    def learn(self, state: State, phase: Phase, observation: Observation) -> tuple[State, Outcome, list[Event]]:
        """Return the state after a phase (its probes and curriculum aside), its outcome, and what was odd about it."""
        scenario = self.scenario
        with blaming(self.blame("rewards", scenario.reward, state, phase.stage.name)):
            rng = generator(scenario.seed, "reward", state.phase)
            scores, reward = scenario.reward.score(state.reward, observation, rng)
        scores = np.asarray(scores, np.float64)
        if scores.shape != (len(self.sources),):
            raise self.blame("rewards", scenario.reward, state, phase.stage.name).fault(
                f"returned the shape {scores.shape}, not ({len(self.sources)},)"
            )
        tokens = observation.tokens_by_source()
        seen = np.isfinite(scores) & (tokens > 0)
        dropped = np.flatnonzero(np.isinf(scores) & (tokens > 0))
        outcome = Outcome(
            step=observation.step,
            phase=state.phase,
            weights=phase.landed.weights,
            share=tokens / tokens.sum(),
            reward=np.where(seen, scores, 0.0),
            seen=seen,
            loss=observation.loss_by_source(),
            observation=observation,
        )
        with blaming(self.blame("policies", scenario.policy.component, state, phase.stage.name)):
            policy = scenario.policy.component.update(state.policy, outcome)
        after = attrs.evolve(
            state,
            step=observation.step,
            phase=state.phase + 1,
            stage=phase.stage.name,
            weights=phase.landed.weights,
            trained=state.trained + tokens,
            sampler=phase.plan.after,
            policy=policy,
            reward=reward,
        )
        events = [("reward_dropped", f"{self.sources.names[i]}: {scores[i]} is not finite") for i in dropped]
        return after, outcome, events

    def advance(self, state: State, outcome: Outcome, findings: Findings) -> State:
        """Return the state with what the curriculum made of a phase and its probes."""
        with blaming(self.blame("curricula", self.scenario.curriculum, state, state.stage)):
            curriculum = self.scenario.curriculum.update(state.curriculum, outcome, findings)
        return attrs.evolve(state, curriculum=curriculum)

    def blame(self, kind: str, component: object, state: State, stage: str) -> Blame:
        """Return whom to name when a component is at fault."""
        name = self.catalogue.name_of(kind, component)
        return Blame(SINGULAR[kind], name, self.catalogue.origin_of(kind, name), state.phase, stage)

    def _context(self, state: State, stage: Stage) -> Context:
        ledger: Ledger = self.sampler.ledger(state.sampler, state.trained)
        until = min(stage.until, self.scenario.run.steps)
        return Context(state.step, state.phase, stage.name, stage.start, until, self.sources, ledger)

    def _landed(self, state: State, moment: Moment) -> Landed:
        slot = self.scenario.policy
        blame = self.blame("policies", slot.component, state, moment.stage)
        with blaming(blame):
            answer = slot.component.propose(state.policy, moment, generator(self.scenario.seed, "policy", state.phase))
        adjusts = [(self.blame("adjusts", one, state, moment.stage), one) for one in self.scenario.adjusts]
        return land(answer, moment, adjusts, slot.landing, blame)

    def _events(self, state: State, stage: Stage, moment: Moment) -> tuple[Event, ...]:
        if stage.name == state.stage:
            return ()
        events = [
            ("stage", f"{stage.name} begins: {int(moment.active.sum())} sources, dimension {moment.region.dimension}")
        ]
        owed = np.flatnonzero(~moment.active & (np.abs(state.sampler.carry) > 1e-9))  # less is rounding
        events += [
            ("debt_forgiven", f"{self.sources.names[i]} was owed {state.sampler.carry[i]:.4f} rows and is now excluded")
            for i in owed
        ]
        return tuple(events)
