"""Little worlds to try plugins in: random regions, moments and outcomes, some hostile, none writable."""

import math
from collections.abc import Collection, Sequence
from typing import TypeVar

import attrs
import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from andrea_core.simplex import Region
from andrea_core.values import Context, Gradients, Ledger, Mask, Moment, Observation, Outcome, Sources, Vector

NAMES = ("a", "b", "c", "d")
"""The sources of a world when the caller names none."""

_Number = TypeVar("_Number", bound=np.generic)

REWARDS = (1.0, 0.0, 1e-300, -1.0, 1e300, -1e300, 1.7e308, -1.7e308)
"""Sizes of the rewards that a policy must bear: the core drops what is not finite, all else arrives."""


@attrs.frozen
class Palette:
    """What the numbers of an observation are picked from, row by row or source by source.

    `losses` and `heldout` are nats a token, `after` the parts of a row's loss that its own step leaves, `gradients` the
    lengths of the sources' gradients.
    """

    losses: tuple[float, ...] = (0.0, 1e-6, 2.0, 5.0, 1e6)
    heldout: tuple[float, ...] = (0.0, 1.5, 2.5, 2.5, 4.0, math.nan)
    after: tuple[float, ...] = (0.0, 0.5, 1.0, 1.1, 1e3)
    gradients: tuple[float, ...] = (0.0, 1e-30, 1.0, 1.0, 1.0, 1e30)


PALETTE = Palette()


def frozen(array: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Return the array, made read-only: what the core hands to a plugin is not the plugin's to change."""
    array.flags.writeable = False
    return array


def make_sources(names: Sequence[str]) -> Sources:
    """Return sources of very different sizes."""
    return Sources(
        tuple(names), frozen(np.array([1000 * pow(7, k, 99991) % 99991 + 1 for k in range(len(names))], dtype=np.int64))
    )


def draw_region(names: Sequence[str], rng: Generator) -> Region:
    """Return a region with some exclusions, floors and caps around a random point, so that it is never empty."""
    inside = rng.random(len(names)) < 0.7
    inside[rng.integers(len(names))] = True
    point = np.where(inside, rng.dirichlet(np.ones(len(names))), 0.0)
    point /= point.sum()
    floors = {name: float(w * rng.random()) for name, w in zip(names, point, strict=True) if rng.random() < 0.4}
    caps = {
        name: float(w + (1 - w) * rng.random())
        for name, w in zip(names, point, strict=True)
        if w and rng.random() < 0.4
    }
    excluded = [name for name, w in zip(names, point, strict=True) if w == 0]
    return Region.of(tuple(names), floors=floors, caps=caps, exclude=excluded, reason="a made-up constraint")


def draw_ledger(count: int, rng: Generator) -> Ledger:
    """Return what training might have used so far."""
    drawn = rng.integers(0, 1000, count)
    return Ledger(frozen(drawn), frozen(drawn * 64), frozen(drawn / 100.0))


def make_context(sources: Sources, phase: int, rng: Generator, weights: Vector | None = None) -> Context:
    """Return a context in the middle of a stage of 1,000 steps."""
    return Context(
        step=20 * phase,
        phase=phase,
        stage="trial",
        stage_start=0,
        stage_until=1000,
        sources=sources,
        ledger=draw_ledger(len(sources), rng),
        weights=weights,
    )


def make_moment(sources: Sources, phase: int, region: Region, weights: Vector, rng: Generator) -> Moment:
    """Return the moment of a phase border; `weights` (K,) must lie in the region."""
    ledger = draw_ledger(len(sources), rng)
    return Moment(20 * phase, phase, f"trial {phase // 4}", sources, region, frozen(np.array(weights)), ledger)


def draw_observation(
    weights: Vector, step: int, rng: Generator, needs: Collection[str] = (), palette: Palette = PALETTE
) -> Observation:
    """Return a phase of 1 to 6 steps of 4 rows, drawn by the weights (K,); sources may be missing, losses are odd.

    `needs` names what is measured besides, as a plugin's `needs` does.
    """
    count, shape = len(weights), (int(rng.integers(1, 7)), 4)
    source = rng.choice(count, size=shape, p=weights / weights.sum()).astype(np.int64)
    tokens = rng.integers(1, 65, shape)
    loss = tokens * rng.choice(palette.losses, size=shape)
    held = rng.choice(palette.heldout, size=count) if "heldout" in needs else None
    after = loss * rng.choice(palette.after, size=shape) if "loss_after" in needs else None
    return Observation(
        frozen(loss),
        frozen(tokens),
        frozen(source),
        frozen(np.array(weights)),
        step,
        None if held is None else frozen(held),
        None if after is None else frozen(after),
        draw_gradients(count, rng, palette) if "source_gradients" in needs else None,
        frozen(rng.choice(palette.heldout, size=count)) if "probed" in needs else None,
    )


def draw_gradients(count: int, rng: Generator, palette: Palette = PALETTE) -> Gradients:
    """Return the inner products of random gradients: of very different sizes, some 0, some unknown on either side."""
    size = rng.choice(palette.gradients, size=count)
    train = size[:, None] * rng.normal(size=(count, 3))
    heldout = train + 0.1 * size[:, None] * rng.normal(size=(count, 3))
    train[rng.random(count) < 0.15] = np.nan
    heldout[rng.random(count) < 0.15] = np.nan
    return Gradients(train @ train.T, train @ heldout.T)


def draw_outcome(weights: Vector, phase: int, rng: Generator, needs: Collection[str] = ()) -> Outcome:
    """Return the outcome of a phase under the weights (K,), its rewards hostile in turn, in every fifth all absent.

    `needs` names what is measured besides, as a plugin's `needs` does.
    """
    observation = draw_observation(weights, 20 * (phase + 1), rng, needs)
    size = REWARDS[phase % len(REWARDS)] if phase % 5 != 4 else np.nan
    return taught(observation, phase, size * (1.0 - 0.5 * rng.random(len(weights))))


def taught(observation: Observation, phase: int, scores: Vector) -> Outcome:
    """Return the outcome of a phase whose reward gave the scores (K,): as the core does, what is not finite is none."""
    trained = observation.tokens_by_source()
    seen: Mask = np.isfinite(scores) & (trained > 0)
    return Outcome(
        observation.step,
        phase,
        observation.weights,
        frozen(trained / trained.sum()),
        frozen(np.where(seen, scores, 0.0)),
        frozen(seen),
        frozen(observation.loss_by_source()),
        observation,
    )
