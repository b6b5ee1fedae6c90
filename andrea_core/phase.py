"""One phase, from decision to lesson: region, landed wish, plan of rows, reward, updates."""

from typing import Any

import attrs
import numpy as np
from numpy.random import Generator

from andrea_core.data.sampler import PhasePlan, Sampler, SamplerState
from andrea_core.guard import Blame, Landed, accusation, blaming, land, numbers, pair, whole_steps
from andrea_core.plan import slots_of
from andrea_core.plugins import Catalogue
from andrea_core.rng import generator
from andrea_core.scenario import Loaded, Scenario
from andrea_core.simplex import Region
from andrea_core.simplex.retiring import dropped
from andrea_core.terrain import checked_stage, region_of
from andrea_core.values import Context, Findings, Ledger, Moment, Observation, Outcome, Sources, Stage, Vector
from andrea_core.watching import all_declared

Event = tuple[str, str]

LONGEST = 2**17
"""Steps after which a phase ends, whatever was asked: its plan of rows is held in memory."""


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
        scenario = self.scenario
        return State(
            step=0,
            phase=0,
            stage="",
            weights=None,
            trained=np.zeros(len(self.sources), np.int64),
            sampler=self.sampler.start(),
            curriculum=self._started("curricula", scenario.curriculum),
            policy=self._started("policies", scenario.policy.component),
            reward=self._started("rewards", scenario.reward),
            probes=tuple(self._started("probes", slot.component) for slot in scenario.probes),
        )

    def _started(self, kind: str, component: Any) -> Any:
        with blaming(accusation(self.catalogue, kind, component, 0, "")):
            return component.start(self.sources)

    def decide(self, state: State) -> Phase:
        """Return the next phase. The same state gives the same phase, so a resume may ask again."""
        scenario, seed = self.scenario, self.scenario.seed
        with blaming(self.blame("curricula", scenario.curriculum, state, state.stage)):
            stage = scenario.curriculum.stage(state.curriculum, state.step)
        checked_stage(stage, state.step, self.sources, self.blame("curricula", scenario.curriculum, state, state.stage))
        context = self._context(state, stage)

        def accuse(one: object) -> Blame:
            return self.blame("constraints", one, state, stage.name)

        region, weights = region_of(stage, scenario.constraints, context, state.weights, accuse)
        moment = Moment(state.step, state.phase, stage.name, self.sources, region, weights, context.ledger)
        landed = self._landed(state, moment)
        blame = self.blame("phases", scenario.phases, state, stage.name)
        with blaming(blame):
            wished = scenario.phases.length(context, generator(seed, "phases", state.phase))
        steps = min(landed.proposal.steps or whole_steps(wished, blame), context.stage_until - state.step, LONGEST)
        plan = self.sampler.plan(state.sampler, landed.weights, moment.active, steps, self.draws(state))
        name = landed.proposal.acted or self.catalogue.name_of("policies", scenario.policy.component)
        return Phase(stage, region, landed, name, steps, plan, self._events(state, stage, moment))

    def draws(self, state: State) -> Generator:
        """Return the random generator of the rows of the next phase."""
        return generator(self.scenario.seed, "draw", state.phase)

    def learn(self, state: State, phase: Phase, observation: Observation) -> tuple[State, Outcome, list[Event]]:
        """Return the state after a phase (its probes and curriculum aside), its outcome, and what was odd about it."""
        scenario = self.scenario
        blame = self.blame("rewards", scenario.reward, state, phase.stage.name)
        with blaming(blame):
            rng = generator(scenario.seed, "reward", state.phase)
            answer = scenario.reward.score(state.reward, observation, rng)
        scores, reward = pair(answer, "scores and a state", blame)
        scores = numbers(scores, (len(self.sources),), "scores", blame)
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
        known = all_declared(findings, slots_of(self.scenario, self.catalogue))
        with blaming(self.blame("curricula", self.scenario.curriculum, state, state.stage)):
            curriculum = self.scenario.curriculum.update(state.curriculum, outcome, known)
        return attrs.evolve(state, curriculum=curriculum)

    def pivots(self, state: State, phase: Phase) -> bool:
        """Return whether the curriculum, having seen a phase, ends its stage before the last step foreseen."""
        if state.step >= phase.stage.until:
            return False
        with blaming(self.blame("curricula", self.scenario.curriculum, state, state.stage)):
            stage = self.scenario.curriculum.stage(state.curriculum, state.step)
        return getattr(stage, "name", None) != phase.stage.name  # what is no stage is refused by the next decision

    def blame(self, kind: str, component: object, state: State, stage: str) -> Blame:
        """Return whom to name when a component is at fault."""
        return accusation(self.catalogue, kind, component, state.phase, stage)

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
        """Return what was odd or new: a stage that begins, and, whenever the open sources change, who goes and why."""
        before, now = state.sampler.active, moment.active
        begins = stage.name != state.stage
        if not begins and np.array_equal(before, now):
            return ()
        names, region = self.sources.names, moment.region
        events = []
        if begins:
            text = f"{stage.name} begins: {int(now.sum())} sources, dimension {region.dimension}"
            events.append(("stage", f"{text}; {stage.reason}" if stage.reason else text))
        else:
            gone, back = np.flatnonzero(before & ~now), np.flatnonzero(now & ~before)
            events += [("source_out", f"{names[i]} is taken out: {region.upper_reasons[i]}") for i in gone]
            events += [("source_in", f"{names[i]} may receive mass again") for i in back]
        events += [("floor_dropped", text) for text in dropped(region)]
        owed = np.flatnonzero(~now & (np.abs(state.sampler.carry) > 1e-9))  # less is rounding
        events += [("debt_forgiven", f"{names[i]}, {_owed(state.sampler.carry[i])}, is now excluded") for i in owed]
        return tuple(events)


def _owed(rows: float) -> str:
    """Return a debt in words: rows that a source still had to get, or had got too early."""
    return f"owed {rows:.4f} rows" if rows > 0 else f"ahead by {-rows:.4f} rows"
