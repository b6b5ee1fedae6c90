"""What a scenario plans before anything is trained: its stages, cut at the run's end, and their regions."""

from collections.abc import Sequence

import attrs
import numpy as np

from andrea_core.contracts import ConstraintSet
from andrea_core.errors import ScenarioError
from andrea_core.guard import Blame, accusation, blaming
from andrea_core.plugins import Catalogue
from andrea_core.scenario import Loaded, Scenario
from andrea_core.simplex import Region
from andrea_core.terrain import checked_stage, region_of
from andrea_core.values import Context, Ledger, Sources, Stage

FAR = 2**62
"""A border beyond this lies after the end of any run: the stage lasts to the end."""


@attrs.frozen(eq=False)
class Plan:
    """The stages of a scenario when nothing happens to change the curriculum's mind."""

    scenario: Scenario
    catalogue: Catalogue
    sources: Sources
    stages: tuple[Stage, ...]

    @classmethod
    def of(cls, loaded: Loaded) -> "Plan":
        """Return a scenario's plan. Raises PluginError for a faulty curriculum, ScenarioError for unreached stages."""
        scenario = loaded.scenario
        sources = Sources(tuple(scenario.sources), np.ones(len(scenario.sources), np.int64))
        blame = accusation(loaded.catalogue, "curricula", scenario.curriculum, 0, "")
        with blaming(blame):
            state = scenario.curriculum.start(sources)
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
        """Look at every stage at its first and its last step; bounds may move in between. Raises InfeasibleRegion."""
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
