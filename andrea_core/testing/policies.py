"""The conformance check of policies: drawn runs with hostile rewards, told twice; extreme sizes; renamed sources."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from andrea_core.contracts import Policy
from andrea_core.testing.calls import call, check_settings, check_weights, fail, fingerprint, resumed
from andrea_core.testing.crowds import accepts, alone, blank_moment, crowd, hostile_outcome, silent_outcome
from andrea_core.testing.exploring import explore
from andrea_core.testing.growth import check_growth
from andrea_core.testing.renaming import check_renaming, claims
from andrea_core.testing.worlds import NAMES, make_sources
from andrea_core.values import Moment, Outcome, Proposal, Vector

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject

    from andrea_core.simplex import Region

Now = Callable[[int], Moment]
Then = Callable[[Moment, Vector], Outcome]


def check_policy(
    policy: Policy[Any], names: Sequence[str] = NAMES, phases: int = 6, examples: int = 10, seed: int = 0
) -> None:
    """Raise AssertionError, saying why, unless the policy keeps its contract on made-up runs of `phases` phases.

    Hypothesis draws `examples` runs from the public strategies: random regions, redrawn on the way; rewards that are
    huge, tiny, 0, or not known since they were NaN or infinite. Checked: the weights' shape, signs and masks; that
    state and inputs stay as they were; that equal state, moment and generator give equal bits, from a resumed state
    too; that the state can be stored; that nothing is remembered outside of it.
    Then, where the policy's settings accept such sources (no ScenarioError): one source alone; runs of nothing but
    phases without a reward; 10,000 sources, half of them excluded; work and memory that do not grow with the square of
    the number of sources. A policy that asks for gradients, K^2 numbers by nature, is tried with 100 sources at most;
    its memory may grow with their square, its instructions may not.
    At last, where its `traits` claim it, that the order of the sources does not matter.
    """
    check_settings(policy, "start", "propose", "update")
    names = tuple(names)
    call(policy, "start", make_sources(names))
    explore(lambda data: _check_drawn(policy, names, phases, data), examples, seed)
    _check_extremes(policy, names, seed)
    if claims(policy) and len(names) > 1:
        rng = np.random.default_rng(seed)
        for trial in range(3):
            check_renaming(policy, names, rng.permutation(len(names)), phases, seed + trial)


def _check_drawn(policy: Policy[Any], names: tuple[str, ...], phases: int, data: "DataObject") -> None:
    from hypothesis import strategies as st

    from andrea_core.testing.geometry import regions_of
    from andrea_core.testing.strategies import moments, outcomes

    region: Region = data.draw(regions_of(names))

    def now(phase: int) -> Moment:
        nonlocal region
        if phase and data.draw(st.booleans()):  # a stage border
            region = data.draw(regions_of(names))
        return data.draw(moments(region, phase))

    def then(moment: Moment, weights: Vector) -> Outcome:
        step = 500 * moment.phase + data.draw(st.sampled_from((1, 20, 500)))
        return data.draw(outcomes(weights, moment.phase, policy.needs, step))

    _check_twice(policy, names, phases, now, then)


def _check_extremes(policy: Policy[Any], names: tuple[str, ...], seed: int) -> None:
    many = crowd(names, policy.needs)
    for some, phases in ((names, 4), (alone(names), 10), (many, 3)):
        if not accepts(policy, some):
            continue
        if some is many:  # first, or its square would take for ever
            tables = "source_gradients" in policy.needs
            check_growth(policy, "update", lambda count: _work(policy, crowd(names, (), count)), tables=tables)
        now = partial(blank_moment, some)
        for outcome in (hostile_outcome, silent_outcome):
            _check_twice(policy, some, phases, now, outcome(policy.needs, seed))


def _work(policy: Policy[Any], names: tuple[str, ...]) -> Callable[[], object]:
    """Return the calls of two phases, their world made beforehand."""
    moments, sources = [blank_moment(names, phase) for phase in range(2)], make_sources(names)
    outcomes = [hostile_outcome(policy.needs, 0)(moment, moment.weights) for moment in moments]

    def calls() -> None:
        state = policy.start(sources)
        for moment, outcome in zip(moments, outcomes, strict=True):
            policy.propose(state, moment, np.random.default_rng(moment.phase))
            state = policy.update(state, outcome)

    return calls


def _check_twice(policy: Policy[Any], names: tuple[str, ...], phases: int, now: Now, then: Then) -> None:
    """Walk through a world, then tell a second run from `start` the very same things."""
    told: list[tuple[Moment, Outcome]] = []

    def heard(moment: Moment, target: Vector) -> Outcome:
        told.append((moment, then(moment, moment.region.project(target / target.sum()))))
        return told[-1][1]

    first = _walk(policy, names, phases, now, heard)
    second = _walk(policy, names, phases, lambda phase: told[phase][0], lambda moment, _: told[moment.phase][1])
    if first != second:
        fail(
            policy,
            "propose",
            "a second run from `start` went another way; keep all memory in the state, and draw from rng",
        )


def _walk(policy: Policy[Any], names: tuple[str, ...], phases: int, now: Now, then: Then) -> list[Any]:
    start = state = call(policy, "start", make_sources(names))
    trace: list[Any] = [fingerprint(policy, "start", state)]
    for phase in range(phases):
        moment = now(phase)
        target = _propose(policy, state, start, moment)
        state = _update(policy, state, start, then(moment, target))
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
