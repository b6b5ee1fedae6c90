"""What can be run and may be a mistake: a warm-up longer than the run, a probe that never looks, too few decisions."""

from andrea_core.forecast import expected_decisions
from andrea_core.plan import Plan, slots_of
from andrea_core.scenario import Loaded, Scenario
from andrea_core.timetable import Timetable


def cautions(loaded: Loaded, plan: Plan) -> list[str]:
    """Return a line for each thing that its author may not have meant."""
    scenario = loaded.scenario
    never = [name for name, slot in slots_of(scenario, loaded.catalogue).items() if not _looks(slot.times, plan)]
    return [
        *_warmup(scenario),
        *(f"the probe {name} never looks: the run's {scenario.run.steps} steps end before it is due" for name in never),
        *_few_decisions(loaded, plan),
    ]


def _warmup(scenario: Scenario) -> list[str]:
    warmup, steps = scenario.optimizer.warmup, scenario.run.steps
    if warmup < steps:
        return []
    return [f"optimizer.warmup is {warmup} steps and the run {steps}: the learning rate never comes to its peak"]


def _looks(times: Timetable, plan: Plan) -> bool:
    if times.at_start or times.at_end or times.at_stage_borders:
        return True
    return times.passed(0, plan.scenario.run.steps)


def _few_decisions(loaded: Loaded, plan: Plan) -> list[str]:
    lines = []
    for index, stage in enumerate(plan.stages):
        shortest, longest = (expected_decisions(loaded, steps) for steps in plan.borders(index).lengths)
        active = int((plan.region(stage).upper > 0).sum())
        if shortest < active:
            perhaps = "" if longest < active else "perhaps "
            lines.append(f"{perhaps}fewer decisions than sources: a bandit cannot try them all in stage {stage.name}")
    return lines
