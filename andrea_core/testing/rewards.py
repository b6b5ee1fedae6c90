"""The conformance check of rewards: drawn runs with missing sources and odd losses, told twice; extreme sizes."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from andrea_core.contracts import Reward
from andrea_core.testing.calls import call, check_settings, fail, fingerprint, resumed
from andrea_core.testing.crowds import accepts, alone, crowd, field
from andrea_core.testing.exploring import explore
from andrea_core.testing.growth import check_growth
from andrea_core.testing.worlds import NAMES, draw_observation, make_sources
from andrea_core.traits import RewardTraits
from andrea_core.values import Observation

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject


def check_reward(
    reward: Reward[Any], names: Sequence[str] = NAMES, phases: int = 6, examples: int = 10, seed: int = 0
) -> None:
    """Raise AssertionError, saying why, unless the reward keeps its contract on made-up runs of `phases` phases.

    Hypothesis draws `examples` runs from the public strategies, with all that the reward `needs`: losses of 0 and 1e6,
    held-out losses and gradients that are not known. Checked: one finite number or NaN a source, in the range of its
    traits, if any; that state and inputs stay; that equal state, observation and generator give equal bits, from a
    resumed state too; that the state can be stored; that nothing is remembered outside of it. Then, where the settings
    accept such sources, the same of one source alone and of 10,000 (100 for one that asks for gradients), and that work
    and memory do not grow with the square of the number of sources (of one that asks for gradients, memory may).
    """
    check_settings(reward, "start", "score")
    names = tuple(names)
    call(reward, "start", make_sources(names))
    explore(lambda data: _check_drawn(reward, names, phases, data), examples, seed)
    many = crowd(names, reward.needs)
    if accepts(reward, many):
        tables = "source_gradients" in reward.needs
        check_growth(reward, "score", lambda count: _work(reward, crowd(names, (), count)), tables=tables)
    for some, count in ((alone(names), 10), (many, 3)):
        if accepts(reward, some):
            _check_twice(reward, some, _shown(reward, some, count, seed))


def _check_drawn(reward: Reward[Any], names: tuple[str, ...], phases: int, data: "DataObject") -> None:
    from andrea_core.testing.geometry import regions_of
    from andrea_core.testing.strategies import observations

    weights = data.draw(regions_of(names)).centre
    shown = [data.draw(observations(weights, 20 * (phase + 1), reward.needs)) for phase in range(phases)]
    _check_twice(reward, names, shown)


def _shown(reward: Reward[Any], names: tuple[str, ...], phases: int, seed: int) -> list[Observation]:
    rng, weights = np.random.default_rng(seed), field(names).centre
    return [draw_observation(weights, 20 * (phase + 1), rng, reward.needs) for phase in range(phases)]


def _work(reward: Reward[Any], names: tuple[str, ...]) -> Callable[[], object]:
    """Return the calls of two phases, their world made beforehand."""
    shown, sources = _shown(reward, names, 2, 0), make_sources(names)

    def calls() -> None:
        state = reward.start(sources)
        for observation in shown:
            _, state = reward.score(state, observation, np.random.default_rng(observation.step))

    return calls


def _check_twice(reward: Reward[Any], names: tuple[str, ...], shown: Sequence[Observation]) -> None:
    first, second = (_walk(reward, names, shown) for _ in range(2))
    if first != second:
        fail(
            reward,
            "score",
            "a second run from `start` went another way; keep all memory in the state, and draw from rng",
        )


def _walk(reward: Reward[Any], names: tuple[str, ...], shown: Sequence[Observation]) -> list[Any]:
    start = state = call(reward, "start", make_sources(names))
    trace: list[Any] = []
    for observation in shown:
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
    slack = 1e-9 * np.maximum(1.0, np.abs(scores))
    for name, score in _first(names, scores, (scores < low - slack) | (scores > high + slack)):
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
    for name, score in _first(names, scores, np.isinf(scores)):
        fail(reward, "score", f"gave source {name!r} the reward {score}; use NaN where there is none")
    _check_range(reward, scores, names)
    return (scores.tobytes(), fingerprint(reward, "score", answer[1])), answer[1]


def _first(names: tuple[str, ...], scores: Any, wrong: Any) -> list[tuple[str, float]]:
    """Return the first source that is wrong and its score, as a list of one or none."""
    return [(names[k], float(scores[k])) for k in np.flatnonzero(wrong)[:1]]
