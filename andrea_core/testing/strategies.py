"""Hypothesis strategies for what plugins receive: observations, outcomes and moments, hostile ones too."""

import math
from collections.abc import Collection

import numpy as np
from hypothesis import strategies as st

from andrea_core.simplex import Region
from andrea_core.testing.geometry import regions
from andrea_core.testing.worlds import (
    PALETTE,
    REWARDS,
    Palette,
    draw_ledger,
    draw_observation,
    frozen,
    make_sources,
    taught,
)
from andrea_core.values import Moment, Observation, Outcome, Vector

_SCORES = st.one_of(st.floats(-10, 10), st.sampled_from(REWARDS), st.sampled_from((math.nan, math.inf, -math.inf)))
"""What a reward may say of a source; what is not finite reaches a policy as a reward that is not known."""


def _some(values: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[float, ...]]:
    return st.lists(values, min_size=1, max_size=4).map(tuple)


palettes: st.SearchStrategy[Palette] = st.just(PALETTE) | st.builds(
    Palette,
    losses=_some(st.floats(0, 10) | st.floats(0, 1e6) | st.just(0.0)),
    heldout=_some(st.floats(0, 10) | st.sampled_from((0.0, 1e6, math.nan))),
    after=_some(st.floats(0, 2) | st.sampled_from((0.0, 1e3))),
    gradients=_some(st.floats(0, 10) | st.sampled_from((0.0, 1e-30, 1e30))),
)
"""Up to four values for each number of an observation; few, so that ties, zeros and unknowns are frequent."""


@st.composite
def observations(draw: st.DrawFn, weights: Vector, step: int = 20, needs: Collection[str] = ()) -> Observation:
    """Draw what a phase under the weights (K,) showed: up to 6 steps of 4 rows, losses up to 1e6 nats a token.

    Only sources with weight give rows; any of them may give none. `needs` names what is measured besides, as a
    plugin's `needs` does: "heldout", "loss_after", "source_gradients", "probed", each partly unknown.
    """
    return draw_observation(weights, step, draw(_generators), needs, draw(palettes))


@st.composite
def outcomes(
    draw: st.DrawFn, weights: Vector, phase: int = 0, needs: Collection[str] = (), step: int | None = None
) -> Outcome:
    """Draw the outcome of a phase under the weights (K,): finite rewards of any size, any or all of them unknown.

    `needs` is that of `observations`; the phase ends at `step`, without one 20 steps after the last.
    """
    observation = draw(observations(weights, 20 * (phase + 1) if step is None else step, needs))
    scores = draw(_generators).choice(np.array(draw(_some(_SCORES))), size=len(weights))
    return taught(observation, phase, scores)


@st.composite
def moments(draw: st.DrawFn, region: Region | None = None, phase: int = 0) -> Moment:
    """Draw the moment of a phase border: a random region unless one is given, and present weights anywhere in it."""
    region = draw(regions()) if region is None else region
    rng = draw(_generators)
    weights = draw(st.sampled_from((region.centre, region.sample(rng), region.vertex(rng.random(len(region.names))))))
    ledger = draw_ledger(len(region.names), rng)
    sources = make_sources(region.names)
    return Moment(20 * phase, phase, "trial", sources, region, frozen(np.array(weights)), ledger)


_generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)
