"""The conformance check of policies: a walk over random regions with hostile rewards, twice."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from andrea_core.contracts import Policy
from andrea_core.testing.calls import call, check_settings, check_weights, fail, fingerprint, resumed
from andrea_core.testing.worlds import NAMES, draw_outcome, draw_region, make_moment, make_sources
from andrea_core.values import Moment, Outcome, Proposal, Vector


def check_policy(policy: Policy[Any], names: Sequence[str] = NAMES, phases: int = 24, seed: int = 0) -> None:
    """Raise AssertionError, saying why, unless the policy keeps its contract on `phases` phases of a made-up run.

    Checked: the weights' shape, signs and masks in every region; rewards that are huge, tiny, 0 or absent; that state
    and inputs stay as they were; that equal state, moment and generator give equal bits, from a resumed state too; that
    the state can be stored; that nothing is remembered outside of it.
    """
    check_settings(policy, "start", "propose", "update")
    first, second = (_walk(policy, tuple(names), phases, seed) for _ in range(2))
    if first != second:
        fail(
            policy,
            "propose",
            "a second run from `start` went another way; keep all memory in the state, and draw from rng",
        )


def _walk(policy: Policy[Any], names: tuple[str, ...], phases: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    sources = make_sources(names)
    start = state = call(policy, "start", sources)
    region = draw_region(names, rng)
    weights = region.centre
    trace: list[Any] = [fingerprint(policy, "start", state)]
    for phase in range(phases):
        if phase % 4 == 3:  # a stage border redraws the region, and the weights are projected onto it
            region = draw_region(names, rng)
            weights = region.project(weights)
        moment = make_moment(sources, phase, region, weights, rng)
        target = _propose(policy, state, start, moment)
        weights = region.project(target / target.sum())
        state = _update(policy, state, start, draw_outcome(weights, phase, rng, policy.needs))
        trace += [target.tobytes(), fingerprint(policy, "update", state)]
    return trace


def _propose(policy: Policy[Any], state: Any, start: Any, moment: Moment) -> Vector:
    before = fingerprint(policy, "propose", state)
    copy = resumed(policy, "propose", state, start)
    answers = [call(policy, "propose", known, moment, np.random.default_rng(moment.phase)) for known in (state, copy)]
    if fingerprint(policy, "propose", state) != before:
        fail(policy, "propose", "changed the state; only `update` makes a new one")
    first, second = (_target(policy, answer, moment) for answer in answers)
    if first.tobytes() != second.tobytes():
        fail(policy, "propose", "equal state, moment and rng gave other weights; use no randomness or memory but these")
    return first


def _target(policy: Policy[Any], answer: Any, moment: Moment) -> Vector:
    names = moment.sources.names
    if not isinstance(answer, Proposal):
        return check_weights(policy, "propose", answer, names, moment.active)
    if answer.steps is not None and not answer.steps >= 1:
        fail(policy, "propose", f"wishes a phase of {answer.steps} steps; a phase has at least 1, or None for no wish")
    for name, note in answer.notes.items():
        if np.shape(note) != (len(names),):
            fail(policy, "propose", f"note {name!r} has shape {np.shape(note)}; a note has one number a source")
    return check_weights(policy, "propose", answer.target, names, moment.active)


def _update(policy: Policy[Any], state: Any, start: Any, outcome: Outcome) -> Any:
    before = fingerprint(policy, "update", state)
    copy = resumed(policy, "update", state, start)
    after, again = (call(policy, "update", known, outcome) for known in (state, copy))
    if fingerprint(policy, "update", state) != before:
        fail(policy, "update", "changed the state it was given; return a new one and leave the old alone")
    if fingerprint(policy, "update", after) != fingerprint(policy, "update", again):
        fail(policy, "update", "equal state and outcome gave another state; use no memory but these")
    return after
