"""Feeds recorded phases to a scenario's policy: its own record, to be reproduced, or another policy's, off-policy."""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.random import Generator

from andrea_core.data.sampler import PhasePlan, Sampler, SamplerState
from andrea_core.errors import RunError
from andrea_core.phase import Director, Phase, State
from andrea_core.pivots import Pivots
from andrea_core.plugins import SINGULAR, Catalogue
from andrea_core.record import decided, learned
from andrea_core.runs.replay.findings import Looks
from andrea_core.runs.replay.recorded import Recorded
from andrea_core.runs.soundness import RESTORE
from andrea_core.scenario import Loaded, Scenario
from andrea_core.values import Mask, Outcome, Sources, Vector


@attrs.frozen(eq=False)
class Replayed:
    """A phase as it was decided and learned from this time; `arrays` (K,) have the names of the record's."""

    phase: int
    step: int
    stage: str
    policy: str
    steps: int
    arrays: Mapping[str, Vector]
    dropped: tuple[str, ...] = ()
    """Scores of the reward that were not finite, each with its source: they count as no reward."""


@attrs.frozen
class Supply:
    """A source of which only the size is known, in tokens of one epoch: what the ledger asks of a stream."""

    context: int
    epoch_tokens: int

    def epochs(self, rows: int) -> float:
        """Return how often `rows` rows pass over the source."""
        return rows * self.context / self.epoch_tokens


class Unplanned(Sampler):
    """A sampler that plans no rows, for a replay that follows the recorded ones."""

    def plan(self, state: SamplerState, weights: Vector, active: Mask, steps: int, rng: Generator) -> PhasePlan:
        """Return a plan without rows."""
        nothing = np.empty((steps, 0), np.int64)
        return PhasePlan(nothing, nothing, state)


def replayed(loaded: Loaded, recorded: Recorded, *, own: bool) -> Iterator[Replayed]:
    """Yield every recorded phase as a scenario decides it when it is shown what the run showed, phase by phase.

    With `own`, the scenario is the run's: each decision starts from the recorded weights, and the plan of rows is made
    anew as well. Without, it is off-policy: the weights walk on from the replayed ones, phases are as long as recorded,
    and outcomes, ledger and debts are those of the recorded run, whatever the weights. Pivots that the run took up
    change the constraints where they did then. A fork's own phases are replayed from the state that its first
    checkpoint holds: what came before was decided under another scenario. Raises RunError when the
    policy or the reward needs what was not recorded.
    """
    if tuple(loaded.scenario.sources) != recorded.sources.names:
        raise RunError(
            f"{recorded.run.folder}: the record is damaged: its attribute 'sources' names "
            f"{', '.join(recorded.sources.names)}, the run's scenario {', '.join(loaded.scenario.sources)}; {RESTORE}"
        )
    director = director_of(loaded.scenario, loaded.catalogue, recorded, plans=own)
    _refuse_needs(director, recorded)
    looks, pivots = Looks.of(recorded.run, director), Pivots.of(recorded.run.folder, loaded)
    state = _beginning(recorded, director) if own else director.start()
    for index in range(state.phase, len(recorded)):
        director = pivots.director(director, state.step)
        state = attrs.evolve(state, sampler=recorded.before(index, state.sampler))
        phase = director.decide(state)
        landed = phase.landed.weights
        seen = recorded.observation(index)
        after, outcome, odd = director.learn(state, _as_recorded(phase, recorded, index), seen)
        dropped = tuple(text for kind, text in odd if kind == "reward_dropped")
        yield attrs.evolve(_row(director, state, phase, outcome, own=own), dropped=dropped)
        ended = attrs.evolve(phase, steps=after.step - state.step)
        findings = looks.at(ended, after.step, loaded.scenario.run.steps)
        state = director.advance(after if own else attrs.evolve(after, weights=landed), outcome, findings)


def _beginning(recorded: Recorded, director: Director) -> State:
    """Return the state in which the run's own phases began: that before step 0, or what a fork took over."""
    from andrea_core.runs.checkpoint import CheckpointFolder
    from andrea_core.runs.folder import first_step
    from andrea_core.runs.tree import restore

    folder, start = recorded.run.folder, director.start()
    step = first_step(folder)
    if not step:
        return start
    values, arrays = CheckpointFolder(folder / "checkpoints").plain(step)
    state: State = restore(values["state"], arrays, start)
    return state


def director_of(scenario: Scenario, catalogue: Catalogue, recorded: Recorded, *, plans: bool) -> Director:
    """Return a director that needs no text: sources are known by their size alone."""
    supplies: Any = [Supply(recorded.context, int(tokens)) for tokens in recorded.sources.tokens]
    sampler = (Sampler if plans else Unplanned)(scenario.sampler, supplies)
    return Director(scenario, catalogue, Sources(tuple(scenario.sources), recorded.sources.tokens), sampler)


def _as_recorded(phase: Phase, recorded: Recorded, index: int) -> Phase:
    """Return a phase under the weights and with the rows that were trained, whoever decides this time."""
    return attrs.evolve(
        phase,
        landed=attrs.evolve(phase.landed, weights=recorded.phases["weights"][index]),
        plan=attrs.evolve(phase.plan, after=recorded.left(index)),
    )


def _row(director: Director, before: State, phase: Phase, outcome: Outcome, *, own: bool) -> Replayed:
    arrays = decided(phase)
    if own:
        planned: Any = np.bincount(phase.plan.source.ravel(), minlength=len(director.sources))
        trained = before.trained + outcome.observation.tokens_by_source()
        epochs = director.sampler.ledger(phase.plan.after, trained).epochs
        arrays |= {"drawn": planned, "owed": phase.plan.after.carry, "epochs": epochs}
    arrays |= learned(outcome)
    return Replayed(before.phase, before.step, phase.stage.name, phase.policy, phase.steps, arrays)


def _refuse_needs(director: Director, recorded: Recorded) -> None:
    scenario = director.scenario
    for kind, component in (("policies", scenario.policy.component), ("rewards", scenario.reward)):
        lacking = sorted(component.needs - recorded.provides)
        if lacking:
            name = director.catalogue.name_of(kind, component)
            raise RunError(
                f"{recorded.run.folder}: the {SINGULAR[kind]} {name!r} needs {', '.join(lacking)}, which this run did "
                "not record; replay it on a run whose policy or reward needed the same"
            )
