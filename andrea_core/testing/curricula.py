"""The conformance check of curricula: every step has one stage, and stages keep their borders."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from andrea_core.contracts import Curriculum
from andrea_core.testing.calls import call, check_settings, fail, fingerprint, resumed
from andrea_core.testing.crowds import accepts, alone, crowd, field
from andrea_core.testing.exploring import explore
from andrea_core.testing.growth import check_growth
from andrea_core.testing.worlds import NAMES, draw_outcome, make_sources
from andrea_core.values import Findings, Measurement, Outcome, Sources, Stage

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject


def check_curriculum(
    curriculum: Curriculum[Any],
    names: Sequence[str] = NAMES,
    steps: int = 200_000,
    phases: int = 40,
    examples: int = 4,
    seed: int = 0,
) -> None:
    """Raise AssertionError, saying why, unless the curriculum keeps its contract on made-up runs of `steps` steps.

    Hypothesis draws what the phases of `examples` runs showed from the public strategies. Checked at `phases` phase
    borders, spread over each run: the stage of a step holds it, every step of a stage names the same stage, its sources
    exist; state and inputs stay as they were; equal inputs give equal answers, from a resumed state too; the state can
    be stored; nothing is remembered outside of it. Then one source alone and 10,000, where the settings accept them (no
    ScenarioError; a stage that names sources is left out with them), and that its work and memory do not grow with the
    square of the number of sources.
    """
    check_settings(curriculum, "start", "stage", "update")
    names = tuple(names)
    call(curriculum, "start", make_sources(names))
    explore(lambda data: _check_drawn(curriculum, names, steps, phases, data), examples, seed)
    many = crowd(names, ())
    if accepts(curriculum, many):  # first, or its square would take for ever
        check_growth(curriculum, "update", lambda count: _work(curriculum, crowd(names, (), count)))
    for some, count in ((alone(names), 10), (many, 4)):
        if accepts(curriculum, some) and _fits(curriculum, some):
            rng = np.random.default_rng(seed)
            told = [draw_outcome(field(some).centre, phase, rng) for phase in range(count)]
            _check_twice(curriculum, some, steps, told)


def _check_drawn(
    curriculum: Curriculum[Any], names: tuple[str, ...], steps: int, phases: int, data: "DataObject"
) -> None:
    from andrea_core.testing.geometry import regions_of
    from andrea_core.testing.strategies import outcomes

    few = [data.draw(outcomes(data.draw(regions_of(names)).centre)) for _ in range(4)]
    length = max(1, steps // phases)
    told = [attrs.evolve(few[phase % 4], step=length * (phase + 1), phase=phase) for phase in range(phases)]
    _check_twice(curriculum, names, steps, told)


def _work(curriculum: Curriculum[Any], names: tuple[str, ...]) -> Callable[[], object]:
    """Return the calls of two phases, their world made beforehand."""
    sources, rng = make_sources(names), np.random.default_rng(0)
    told = [draw_outcome(field(names).centre, phase, rng) for phase in range(2)]

    def calls() -> None:
        state = curriculum.start(sources)
        for outcome in told:
            curriculum.stage(state, 20 * outcome.phase)
            state = curriculum.update(state, outcome, Findings({}))

    return calls


def _fits(curriculum: Curriculum[Any], names: tuple[str, ...]) -> bool:
    """Return whether the first stage names no source but these."""
    stage = curriculum.stage(curriculum.start(make_sources(names)), 0)
    return set(stage.sources or ()) <= set(names)


def _check_twice(curriculum: Curriculum[Any], names: tuple[str, ...], steps: int, told: Sequence[Outcome]) -> None:
    first, second = (_walk(curriculum, names, steps, told) for _ in range(2))
    if first != second:
        fail(curriculum, "update", "a second run from `start` went another way; keep all memory in the state")


def _walk(curriculum: Curriculum[Any], names: tuple[str, ...], steps: int, told: Sequence[Outcome]) -> list[Any]:
    sources = make_sources(names)
    start = state = call(curriculum, "start", sources)
    step, trace = 0, []
    for outcome in told:
        stage = _stage(curriculum, state, start, step, sources)
        length = max(1, min(steps // len(told), stage.until - step))
        _check_borders(curriculum, state, stage, (stage.start, step, min(step + length, steps) - 1))
        step += length
        state = _update(curriculum, state, start, attrs.evolve(outcome, step=step))
        trace.append((stage, fingerprint(curriculum, "update", state)))
        if step >= steps:
            break
    return trace


def _stage(curriculum: Curriculum[Any], state: Any, start: Any, step: int, sources: Sources) -> Stage:
    before = fingerprint(curriculum, "stage", state)
    copy = resumed(curriculum, "stage", state, start)
    stage, again = (call(curriculum, "stage", known, step) for known in (state, copy))
    if not isinstance(stage, Stage):
        fail(curriculum, "stage", f"must return a Stage, got {type(stage).__name__}")
    if stage != again or fingerprint(curriculum, "stage", state) != before:
        fail(
            curriculum,
            "stage",
            "equal state and step gave another stage, or the state changed; only `update` may do so",
        )
    if not stage.start <= step < stage.until:
        fail(curriculum, "stage", f"step {step} got stage {stage.name!r} of steps [{stage.start}, {stage.until})")
    _check_content(curriculum, stage, sources)
    return stage


def _check_content(curriculum: Curriculum[Any], stage: Stage, sources: Sources) -> None:
    if stage.sources is not None:
        unknown = [name for name in stage.sources if name not in sources.names]
        if unknown or not stage.sources:
            what = f"unknown sources {', '.join(unknown)}" if unknown else "no sources"
            fail(
                curriculum, "stage", f"stage {stage.name!r} has {what}; name at least one that exists, or None for all"
            )
    for constraint in stage.constraints:
        if not callable(getattr(constraint, "restrict", None)):
            fail(curriculum, "stage", f"stage {stage.name!r} holds {constraint!r}, which is no constraint set")


def _check_borders(curriculum: Curriculum[Any], state: Any, stage: Stage, steps: tuple[int, ...]) -> None:
    for step in steps:
        if step < stage.until and call(curriculum, "stage", state, step) != stage:
            fail(
                curriculum,
                "stage",
                f"stage {stage.name!r} claims steps [{stage.start}, {stage.until}), but step {step} got another stage",
            )


def _update(curriculum: Curriculum[Any], state: Any, start: Any, outcome: Outcome) -> Any:
    findings = Findings({"trial": {"value": Measurement(float(outcome.phase))}})
    before = fingerprint(curriculum, "update", state)
    copy = resumed(curriculum, "update", state, start)
    after, again = (call(curriculum, "update", known, outcome, findings) for known in (state, copy))
    if fingerprint(curriculum, "update", state) != before:
        fail(curriculum, "update", "changed the state it was given; return a new one and leave the old alone")
    if fingerprint(curriculum, "update", after) != fingerprint(curriculum, "update", again):
        fail(curriculum, "update", "equal inputs gave another state; use no memory but the state")
    return after
