"""What watches a probe: the probe must be there and look in time, its measurement be one number, or one a source."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from andrea_core.contracts import Curriculum, Reacting, Reward, Watching
from andrea_core.errors import ScenarioError
from andrea_core.spelling import nearest
from andrea_core.timetable import Timetable
from andrea_core.values import Findings, Measurement, Vector

if TYPE_CHECKING:
    from andrea_core.scenario import ProbeSlot, Scenario


def refuse_unwatched(reward: Reward[object], probes: list[str]) -> None:
    """Raise ScenarioError when a reward watches a probe that the scenario does not have."""
    if isinstance(reward, Watching) and reward.watches[0] not in probes:
        name = reward.watches[0]
        raise ScenarioError(
            f"reward: it is made of what the probe {name!r} measures, which the scenario does not have"
            f"{nearest(name, probes) or '; its probes are ' + (', '.join(probes) or 'none')}"
        )


def refuse_unseen(scenario: "Scenario", slots: Mapping[str, "ProbeSlot"], stages: int) -> None:
    """Raise ScenarioError when what a reward or curriculum watches is never measured in time, or not at all.

    `slots` are the scenario's probes by their names in the record. A reward is paid at the ends of phases before the
    run's last; a stage waits for looks inside of it, so that a look at its border comes too late.
    """
    steps = scenario.run.steps
    for what, name, measurement in _watched(scenario.reward, scenario.curriculum):
        slot = slots[name]
        _refuse_undeclared(what, name, measurement, slot)
        rewarded = what == "reward"
        if rewarded and "outcome" in slot.component.needs:
            raise ScenarioError(
                f"reward: the probe {name!r} that it watches looks at the rewards themselves, which it would make; "
                "watch another probe"
            )
        if looks_inside(slot.times, steps) or (rewarded and slot.times.at_stage_borders and stages > 1):
            continue
        then = "it would never be paid" if rewarded else "no stage would ever end by it"
        raise ScenarioError(
            f"{what}: the probe {name!r} that it watches looks at {_times(slot.times)} only, so {then}; give the "
            "probe `every = N`, a number of steps less than the run's (every = 1 is a look after each phase)"
        )


def looks_inside(times: Timetable, steps: int) -> bool:
    """Return whether a probe looks at multiples of steps that a run reaches before its last."""
    return times.passed(0, steps - 1)


def _watched(reward: Reward[object], curriculum: Curriculum[object]) -> Iterator[tuple[str, str, str]]:
    """Yield who watches which probe, and which of its measurements; "" where that is not said."""
    if isinstance(reward, Watching):
        yield "reward", *reward.watches
    if isinstance(curriculum, Reacting):
        read = getattr(curriculum, "reads", frozenset((name, "") for name in curriculum.watches))
        for name, measurement in sorted(read):
            yield "curriculum", name, measurement


def _refuse_undeclared(what: str, name: str, measurement: str, slot: "ProbeSlot") -> None:
    declared = getattr(slot.component, "measures", None)
    if not measurement or declared is None:
        return
    usable = [*declared, *(() if what == "reward" else getattr(slot.component, "arrays", ()))]
    if any(fnmatchcase(measurement, one) for one in usable):
        return
    raise ScenarioError(
        f"{what}: the probe {name!r}, as it is set, measures no one number, nor one a source, called {measurement!r}"
        f"{nearest(measurement, usable)}"
    )


def _times(times: Timetable) -> str:
    """Return in words when a probe looks that does not look at multiples of steps inside the run."""
    borders = (
        (times.every or times.dense_until, "steps beyond the run's last"),
        (times.at_start, "the start"),
        (times.at_stage_borders, "the ends of stages"),
        (times.at_end and not times.at_stage_borders, "the end"),
    )
    return " and ".join(words for there, words in borders if there)


def with_missing(found: Mapping[str, Measurement], component: Any) -> Mapping[str, Measurement]:
    """Return what a probe measured, and, as `missing`, what it declares to measure and could not at this look."""
    declared = (*getattr(component, "measures", ()), *getattr(component, "arrays", ()))
    return {name: Measurement(nan, "missing") for name in declared if name.isidentifier()} | dict(found)


def all_declared(findings: Findings, slots: Mapping[str, "ProbeSlot"]) -> Findings:
    """Return findings with all that their probes declare, for a curriculum that reads them."""
    measured = {
        name: with_missing(found, slots[name].component) if name in slots else found
        for name, found in findings.measured.items()
    }
    return Findings(measured, findings.stop, findings.costs)


def for_each_source(found: Mapping[str, Measurement], watched: tuple[str, str], count: int) -> Vector:
    """Return a measurement as (K,) numbers: one number is every source's, and what is not finite is NaN.

    Raises ScenarioError, naming what there is, when the probe measures no such numbers.
    """
    name, measurement = watched
    one = found.get(measurement)
    if one is None or isinstance(one.value, str) or one.axes:
        usable = [key for key, other in found.items() if not other.axes and not isinstance(other.value, str)]
        what = f"an array over {', '.join(one.axes)}" if one is not None and one.axes else "no number"
        raise ScenarioError(
            f"reward: the probe {name!r} measures {what} called {measurement!r}; one number, or one a source, are "
            f"{', '.join(usable) or 'none'}"
        )
    values = np.broadcast_to(np.asarray(one.value, np.float64), (count,))
    return np.where(np.isfinite(values), values, np.nan)
