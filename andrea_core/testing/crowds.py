"""Worlds of extreme sizes for the checks: one source alone, ten thousand, phases that tell nothing."""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from andrea_core.errors import ScenarioError
from andrea_core.simplex import Region
from andrea_core.testing.growth import MANY
from andrea_core.testing.worlds import draw_observation, draw_outcome, make_sources, taught
from andrea_core.values import Ledger, Moment, Outcome, Vector

PAIRS = 100
"""The most sources of a world where someone asks for gradients: these are K^2 numbers."""


def alone(names: Sequence[str]) -> tuple[str, ...]:
    """Return the first name only."""
    return tuple(names[:1])


def crowd(names: Sequence[str], needs: Collection[str], count: int = MANY) -> tuple[str, ...]:
    """Return `count` names that begin with the given ones; at most 100 where gradients are needed."""
    count = min(count, PAIRS) if "source_gradients" in needs else count
    return (*names, *(f"source-{k}" for k in range(len(names), count)))[: max(count, len(names))]


def accepts(plugin: Any, names: Sequence[str]) -> bool:
    """Return whether the plugin's settings go with these sources: `start` refuses others by a ScenarioError."""
    try:
        plugin.start(make_sources(names))
    except ScenarioError:
        return False
    return True


@lru_cache(maxsize=8)
def field(names: tuple[str, ...]) -> Region:
    """Return the simplex of the sources; of many the later half is excluded."""
    return Region.of(names, exclude=names[len(names) // 2 :] if len(names) > PAIRS else ())


def blank_moment(names: tuple[str, ...], phase: int) -> Moment:
    """Return a moment in the middle of the region, with nothing trained yet."""
    region, none = field(names), np.zeros(len(names), np.int64)
    ledger = Ledger(none, none, none / 1.0)
    return Moment(20 * phase, phase, "trial", make_sources(names), region, region.centre, ledger)


def hostile_outcome(needs: Collection[str], seed: int) -> Callable[[Moment, Vector], Outcome]:
    """Return what makes the outcomes of phases with rewards of every size."""
    return lambda moment, weights: draw_outcome(
        weights, moment.phase, np.random.default_rng([seed, moment.phase]), needs
    )


def silent_outcome(needs: Collection[str], seed: int) -> Callable[[Moment, Vector], Outcome]:
    """Return what makes the outcomes of phases that give no reward at all."""

    def outcome(moment: Moment, weights: Vector) -> Outcome:
        rng = np.random.default_rng([seed, moment.phase])
        shown = draw_observation(weights, 20 * (moment.phase + 1), rng, needs)
        return taught(shown, moment.phase, np.full(len(weights), np.nan))

    return outcome
