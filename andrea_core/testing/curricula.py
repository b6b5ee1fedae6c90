"""The conformance check of curricula: every step has one stage, and stages keep their borders."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from andrea_core.contracts import Curriculum
from andrea_core.testing.calls import call, check_settings, fail, fingerprint, resumed
from andrea_core.testing.worlds import NAMES, draw_outcome, make_sources
from andrea_core.values import Findings, Measurement, Sources, Stage


def check_curriculum(
    curriculum: Curriculum[Any], names: Sequence[str] = NAMES, steps: int = 200_000, phases: int = 200, seed: int = 0
) -> None:
    """Raise AssertionError, saying why, unless the curriculum keeps its contract on a made-up run of `steps` steps.

    Checked at `phases` phase borders, spread over the run: the stage of a step holds it, every step of a stage names
    the same stage, its sources exist; state and inputs stay as they were; equal inputs give equal answers, from a
    resumed state too; the state can be stored.
    """
    check_settings(curriculum, "start", "stage", "update")
    rng = np.random.default_rng(seed)
    sources = make_sources(names)
    start = state = call(curriculum, "start", sources)
    step = 0
    for phase in range(phases):
        stage = _stage(curriculum, state, start, step, sources)
        length = max(1, min(steps // phases, stage.until - step))
        _check_borders(curriculum, state, stage, (stage.start, step, min(step + length, steps) - 1))
        state = _update(curriculum, state, start, phase, rng, len(sources))
        step += length
        if step >= steps:
            return


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


def _update(
    curriculum: Curriculum[Any], state: Any, start: Any, phase: int, rng: np.random.Generator, count: int
) -> Any:
    outcome = draw_outcome(rng.dirichlet(np.ones(count)), phase, rng)
    findings = Findings({"trial": {"value": Measurement(float(phase))}})
    before = fingerprint(curriculum, "update", state)
    copy = resumed(curriculum, "update", state, start)
    after, again = (call(curriculum, "update", known, outcome, findings) for known in (state, copy))
    if fingerprint(curriculum, "update", state) != before:
        fail(curriculum, "update", "changed the state it was given; return a new one and leave the old alone")
    if fingerprint(curriculum, "update", after) != fingerprint(curriculum, "update", again):
        fail(curriculum, "update", "equal inputs gave another state; use no memory but the state")
    return after
