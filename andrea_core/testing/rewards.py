"""The conformance check of rewards: phases with missing sources and odd losses, twice."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from andrea_core.contracts import Reward
from andrea_core.testing.calls import call, check_settings, fail, fingerprint, resumed
from andrea_core.testing.worlds import NAMES, draw_observation, make_sources
from andrea_core.traits import RewardTraits
from andrea_core.values import Observation


def check_reward(reward: Reward[Any], names: Sequence[str] = NAMES, phases: int = 24, seed: int = 0) -> None:
    """Raise AssertionError, saying why, unless the reward keeps its contract on `phases` phases of a made-up run.

    Checked: one finite number or NaN a source, in the range of its traits, if any; that state and inputs stay;
    that equal state, observation and generator give equal bits, from a resumed state too; that the state can be
    stored; that nothing is remembered outside of it.
    """
    check_settings(reward, "start", "score")
    first, second = (_walk(reward, tuple(names), phases, seed) for _ in range(2))
    if first != second:
        fail(
            reward,
            "score",
            "a second run from `start` went another way; keep all memory in the state, and draw from rng",
        )


def _walk(reward: Reward[Any], names: tuple[str, ...], phases: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    start = state = call(reward, "start", make_sources(names))
    trace: list[Any] = []
    for phase in range(phases):
        weights = rng.dirichlet(np.full(len(names), 0.3))
        observation = draw_observation(weights, 20 * (phase + 1), rng, reward.needs)
        before = fingerprint(reward, "score", state)
        copy = resumed(reward, "score", state, start)
        after, again = (_score(reward, known, observation, names) for known in (state, copy))
        if fingerprint(reward, "score", state) != before:
            fail(reward, "score", "changed the state it was given; return a new one and leave the old alone")
        if after[0] != again[0]:
            fail(reward, "score", "equal state, observation and rng gave other rewards; use nothing but these")
        trace.append(after[0])
        state = after[1]
    return trace


def _check_range(reward: Reward[Any], scores: Any, names: tuple[str, ...]) -> None:
    """Fail when a score lies outside the range that the reward's traits declare, rounding aside."""
    traits = getattr(reward, "traits", None)
    if not isinstance(traits, RewardTraits):
        return
    low, high = traits.range
    for name, score in zip(names, scores, strict=True):
        slack = 1e-9 * max(1.0, abs(score))
        if score < low - slack or score > high + slack:
            fail(
                reward,
                "score",
                f"gave source {name!r} the reward {score}, outside of the range [{low}, {high}] that "
                "its traits declare; widen the range, or clip",
            )


def _score(reward: Reward[Any], state: Any, observation: Observation, names: tuple[str, ...]) -> tuple[Any, Any]:
    """Return the answer as comparable values, and the next state."""
    answer = call(reward, "score", state, observation, np.random.default_rng(observation.step))
    if not isinstance(answer, tuple) or len(answer) != 2:
        fail(reward, "score", f"expected the pair (scores, next state), got {type(answer).__name__}")
    scores = np.asarray(answer[0])
    if scores.shape != (len(names),) or scores.dtype.kind not in "biuf":
        fail(
            reward, "score", f"expected {len(names)} numbers, one a source, got shape {scores.shape} of {scores.dtype}"
        )
    for name, score in zip(names, scores, strict=True):
        if np.isinf(score):
            fail(reward, "score", f"gave source {name!r} the reward {score}; use NaN where there is none")
    _check_range(reward, scores, names)
    return (scores.tobytes(), fingerprint(reward, "score", answer[1])), answer[1]
