"""Turns weights into batches: every row is one source's text, and the ledger says what was drawn."""

from collections.abc import Sequence
from typing import Protocol

import attrs
import numpy as np
from numpy.random import Generator

from andrea_core.data.apportion import apportion, multinomial, restart
from andrea_core.fields import one_of, positive
from andrea_core.values import Integers, Ledger, Mask, Vector


@attrs.frozen
class SamplerSettings:
    """How batches are drawn: `rows` a batch; `draw` apportioned (exact, with memory) or multinomial (independent)."""

    rows: int = positive(default=8, at_most=2**20)
    draw: str = one_of("apportioned", "multinomial", default="apportioned")


@attrs.frozen(eq=False)
class SamplerState:
    """All that a sampler remembers at a phase border, each (K,): rows drawn so far, rows owed, who was active."""

    position: Integers
    carry: Vector
    active: Mask


@attrs.frozen(eq=False)
class PhasePlan:
    """The rows of one phase: `source` (steps, rows) says whose, `position` (steps, rows) which of its rows."""

    source: Integers
    position: Integers
    after: SamplerState


class Stream(Protocol):
    """What a sampler needs of a source: its rows by their number, and how often so many of them pass over it."""

    def row(self, position: int) -> Integers:
        """Return the (context + 1,) tokens of a row."""

    def epochs(self, rows: int) -> float:
        """Return how often `rows` rows pass over the source."""


class Sampler:
    """Plans the rows of a phase and reads them."""

    def __init__(self, settings: SamplerSettings, streams: Sequence[Stream]):
        self._settings, self._streams = settings, streams
        self._counted: tuple[Integers, Vector] | None = None

    def start(self) -> SamplerState:
        """Return the state before the first phase."""
        count = len(self._streams)
        return SamplerState(np.zeros(count, np.int64), np.zeros(count), np.zeros(count, np.bool_))

    def plan(self, state: SamplerState, weights: Vector, active: Mask, steps: int, rng: Generator) -> PhasePlan:
        """Return the rows of a phase of `steps` steps under `weights` (K,): a pure function of its arguments."""
        carry = state.carry if np.array_equal(active, state.active) else restart(state.carry, active)
        rows = steps * self._settings.rows
        if self._settings.draw == "multinomial":
            source = multinomial(weights, rows, rng)
            carry = carry + rows * weights - np.bincount(source, minlength=len(weights))
        else:
            source, carry = apportion(carry, weights, rows)
        position = _positions(source, state.position)
        after = SamplerState(state.position + np.bincount(source, minlength=len(weights)), carry, active)
        shape = (steps, self._settings.rows)
        return PhasePlan(source.reshape(shape), position.reshape(shape), after)

    def batch(self, plan: PhasePlan, step: int, rows: slice = slice(None)) -> Integers:
        """Return the (rows, context + 1) tokens of the phase's step number `step`, or those of some of its rows."""
        pairs = zip(plan.source[step][rows].tolist(), plan.position[step][rows].tolist(), strict=True)
        return np.stack([self._streams[source].row(position) for source, position in pairs])

    def row(self, source: int, position: int) -> Integers:
        """Return the (context + 1,) tokens of one of a source's rows."""
        return self._streams[source].row(position)

    def ledger(self, state: SamplerState, trained: Integers) -> Ledger:
        """Return what was used so far; `trained` (K,) are the tokens trained."""
        if self._counted is None or self._counted[0] is not state.position:  # asked twice a phase: its end, the next
            epochs = [stream.epochs(int(rows)) for stream, rows in zip(self._streams, state.position, strict=True)]
            self._counted = state.position, np.array(epochs)
        return Ledger(state.position, trained, self._counted[1])


def _positions(source: Integers, first: Integers) -> Integers:
    """Number the rows of each source in the order in which they are drawn."""
    order = np.argsort(source, kind="stable")
    counts = np.bincount(source, minlength=len(first))
    position = np.empty_like(source)
    position[order] = np.arange(len(source)) + np.repeat(first - (np.cumsum(counts) - counts), counts)
    return position
