"""Hypothesis strategies for what plugins receive: observations, outcomes and moments, hostile ones too."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from andrea_core.simplex import Region
from andrea_core.testing.geometry import regions
from andrea_core.testing.worlds import draw_ledger, frozen, make_sources
from andrea_core.values import Moment, Observation, Outcome, Vector

_REWARDS = st.one_of(st.floats(-10, 10), st.floats(allow_nan=False, allow_infinity=False), st.just(0.0))
_LOSSES = st.one_of(st.floats(0, 10), st.floats(0, 1e6), st.just(0.0))


@st.composite
def observations(draw: st.DrawFn, weights: Vector, step: int = 20, heldout: bool = False) -> Observation:
    """Draw what a phase under the weights (K,) showed: up to 4 steps of 4 rows, losses up to 1e6 nats a token.

    Only sources with weight give rows; any of them may give none.
    """
    shape = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    fed = [int(k) for k in np.flatnonzero(weights > 0)]
    source = draw(hnp.arrays(np.int64, shape, elements=st.sampled_from(fed)))
    tokens = draw(hnp.arrays(np.int64, shape, elements=st.integers(1, 64)))
    loss = draw(hnp.arrays(np.float64, shape, elements=_LOSSES)) * tokens
    held = draw(hnp.arrays(np.float64, len(weights), elements=st.floats(0, 10) | st.just(np.nan))) if heldout else None
    frozen_held = None if held is None else frozen(held)
    return Observation(frozen(loss), frozen(tokens), frozen(source), frozen(np.array(weights)), step, frozen_held)


@st.composite
def outcomes(draw: st.DrawFn, weights: Vector, phase: int = 0, heldout: bool = False) -> Outcome:
    """Draw the outcome of a phase under the weights (K,): finite rewards of any size, any of them unknown."""
    observation = draw(observations(weights, 20 * (phase + 1), heldout))
    trained = observation.tokens_by_source()
    count = len(weights)
    seen = (trained > 0) & draw(hnp.arrays(np.bool_, count, elements=st.booleans(), fill=st.nothing()))
    reward = np.where(seen, draw(hnp.arrays(np.float64, count, elements=_REWARDS, fill=st.nothing())), 0.0)
    share, loss = frozen(trained / trained.sum()), frozen(observation.loss_by_source())
    return Outcome(observation.step, phase, observation.weights, share, frozen(reward), frozen(seen), loss, observation)


@st.composite
def moments(draw: st.DrawFn, region: Region | None = None, phase: int = 0) -> Moment:
    """Draw the moment of a phase border: a random region unless one is given, and present weights anywhere in it."""
    region = draw(regions()) if region is None else region
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = draw(st.sampled_from((region.centre, region.sample(rng), region.vertex(rng.random(len(region.names))))))
    ledger = draw_ledger(len(region.names), rng)
    sources = make_sources(region.names)
    return Moment(20 * phase, phase, "trial", sources, region, frozen(np.array(weights)), ledger)
