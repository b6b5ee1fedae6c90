"""What a scenario plans before anything is trained: its stages, cut at the run's end, and their regions."""

from collections.abc import Sequence

import attrs
import numpy as np

from andrea_core.contracts import ConstraintSet, Reacting
from andrea_core.errors import ScenarioError
from andrea_core.guard import Blame, accusation, blaming
from andrea_core.plugins import Catalogue
from andrea_core.scenario import Loaded, ProbeSlot, Scenario
from andrea_core.simplex import Region
from andrea_core.spelling import nearest
from andrea_core.terrain import checked_stage, region_of
from andrea_core.values import Context, Ledger, Sources, Stage
from andrea_core.watching import refuse_unseen, refuse_unwatched

FAR = 2**62
"""A border beyond this lies after the end of any run: the stage lasts to the end."""


def probe_names(scenario: Scenario, catalogue: Catalogue) -> list[str]:
    """Return the probes' names in the record, in order; a second one of the same kind gets a number."""
    names = [catalogue.name_of("probes", slot.component) for slot in scenario.probes]
    earlier = [names[:index].count(name) for index, name in enumerate(names)]
    return [name if not count else f"{name}-{count + 1}" for name, count in zip(names, earlier, strict=True)]


def slots_of(scenario: Scenario, catalogue: Catalogue) -> dict[str, ProbeSlot]:
    """Return the probes of a scenario by their names in the record."""
    return dict(zip(probe_names(scenario, catalogue), scenario.probes, strict=True))


def probe_groups(scenario: Scenario, catalogue: Catalogue) -> dict[str, str]:
    """Return where in the record each probe's measurements go, by the probe's name.

    That is the class's own `group`, if it has one, for the first probe of its kind, else `probes/NAME`.
    """
    taken: dict[str, str] = {}
    for name, slot in slots_of(scenario, catalogue).items():
        wanted = str(getattr(slot.component, "group", f"probes/{name}"))
        taken[name] = wanted if wanted not in taken.values() else f"probes/{name}"
    return taken


@attrs.frozen
class Borders:
    """When a stage may begin and when it may end: both steps of a pair are equal where nothing can move a border."""

    begins: tuple[int, int]
    ends: tuple[int, int]

    @property
    def settled(self) -> bool:
        """Whether the steps alone decide."""
        return self.begins[0] == self.begins[1] and self.ends[0] == self.ends[1]

    @property
    def lengths(self) -> tuple[int, int]:
        """The steps of a stage at its shortest, 0 for one that may never begin, and at its longest."""
        (first, last), (soonest, latest) = self.begins, self.ends
        return max(0, min(soonest - first, latest - last)), latest - first


@attrs.frozen(eq=False)
class Plan:
    """The stages of a scenario; those of a curriculum that reacts from their earliest beginning to their latest end."""

    scenario: Scenario
    catalogue: Catalogue
    sources: Sources
    stages: tuple[Stage, ...]

    @classmethod
    def of(cls, loaded: Loaded) -> "Plan":
        """Return a scenario's plan. Raises PluginError for a faulty curriculum, ScenarioError for unreached stages."""
        scenario = loaded.scenario
        refuse_unwatched(scenario.reward, probe_names(scenario, loaded.catalogue))
        sources = Sources(tuple(scenario.sources), np.ones(len(scenario.sources), np.int64))
        blame = accusation(loaded.catalogue, "curricula", scenario.curriculum, 0, "")
        with blaming(blame):
            state = scenario.curriculum.start(sources)
        if isinstance(scenario.curriculum, Reacting):
            _refuse_unwatched(loaded, scenario.curriculum)
            return cls(scenario, loaded.catalogue, sources, _possible(scenario, scenario.curriculum, sources, blame))
        found: list[Stage] = []
        while not found or found[-1].until < scenario.run.steps:
            step = found[-1].until if found else 0
            with blaming(blame):
                stage = scenario.curriculum.stage(state, step)
            checked_stage(stage, step, sources, blame)
            found.append(attrs.evolve(stage, start=step))
        _refuse_unreached(scenario, state, found[-1])
        found[-1] = attrs.evolve(found[-1], until=scenario.run.steps)
        return cls(scenario, loaded.catalogue, sources, tuple(found))

    def borders(self, index: int) -> Borders:
        """Return when the stage of an index may begin and end."""
        stage = self.stages[index]
        latest = self.stages[index - 1].until if index else 0
        earliest = self.stages[index + 1].start if index + 1 < len(self.stages) else stage.until
        return Borders((stage.start, latest), (earliest, stage.until))

    def open_sources(self) -> dict[str, tuple[int, ...]]:
        """Return the indices of the sources that may receive mass at the first step of each stage, by its name."""
        return {stage.name: tuple(np.flatnonzero(self.region(stage).upper > 0).tolist()) for stage in self.stages}

    def region(
        self, stage: Stage, step: int | None = None, constraints: Sequence[ConstraintSet] | None = None
    ) -> Region:
        """Return the region at a step of a stage, its first if none is given, as if nothing had been drawn yet.

        `constraints` stand for the scenario's own when given. Raises InfeasibleRegion, PluginError.
        """
        zero = np.zeros(len(self.sources), np.int64)
        at = stage.start if step is None else step
        ledger = Ledger(zero, zero, zero.astype(float))
        context = Context(at, 0, stage.name, stage.start, stage.until, self.sources, ledger)

        def accuse(one: object) -> Blame:
            return accusation(self.catalogue, "constraints", one, 0, stage.name)

        everywhere = self.scenario.constraints if constraints is None else constraints
        return region_of(stage, everywhere, context, None, accuse)[0]

    def check(self) -> None:
        """Look at every stage at its first and its last step; bounds may move in between. Raises InfeasibleRegion.

        Raises ScenarioError where the reward or the curriculum watches what no probe measures in time.
        """
        refuse_unseen(self.scenario, slots_of(self.scenario, self.catalogue), len(self.stages))
        for stage in self.stages:
            for step in dict.fromkeys((stage.start, stage.until - 1)):
                self.region(stage, step)


def _refuse_unreached(scenario: Scenario, state: object, last: Stage) -> None:
    """Raise ScenarioError when another stage would begin after the run's last step."""
    if last.until >= FAR or last.until <= scenario.run.steps:
        return
    try:
        following = scenario.curriculum.stage(state, last.until)
    except ScenarioError:
        return  # the last stage has a border of its own: the run just ends before it
    raise ScenarioError(
        f"curriculum: stage {following.name!r} begins at step {last.until}, but the run ends at step "
        f"{scenario.run.steps}, in stage {last.name!r}; give the run more steps, or the stages earlier borders"
    )


def _possible(scenario: Scenario, curriculum: Reacting, sources: Sources, blame: Blame) -> tuple[Stage, ...]:
    """Return the stages that a curriculum may go through, cut at the run's end; refuse one that can never begin."""
    steps = scenario.run.steps
    with blaming(blame):
        stages = tuple(curriculum.possible(steps))
    for stage in stages:
        checked_stage(stage, stage.start, sources, blame)
        if stage.start >= steps:
            raise ScenarioError(
                f"curriculum: stage {stage.name!r} begins at step {stage.start} at the earliest, but the run ends at "
                f"step {steps}; give the run more steps, or the stages before it fewer"
            )
    if not stages or stages[0].start != 0 or stages[-1].until < steps:
        raise blame.fault(f"foresees stages that do not reach from step 0 to {steps}: {[s.name for s in stages]}")
    return tuple(attrs.evolve(stage, until=min(stage.until, steps)) for stage in stages)


def _refuse_unwatched(loaded: Loaded, curriculum: Reacting) -> None:
    """Raise ScenarioError when a curriculum waits for a probe that the scenario does not have."""
    known = probe_names(loaded.scenario, loaded.catalogue)
    for name in sorted(curriculum.watches):
        if name not in known:
            raise ScenarioError(
                f"curriculum: it waits for the probe {name!r}, which the scenario does not have"
                f"{nearest(name, known) or '; its probes are ' + (', '.join(known) or 'none')}"
            )
