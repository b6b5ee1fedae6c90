"""Spikes and level shifts in series of losses: robust z against a lagged median, and k of the last m rows."""

import math

import attrs
import numpy as np

from andrea_core import Integers, Vector

ARMED = 16
"""Rows that a level must have been known for before a departure from it is told."""


@attrs.frozen(eq=False)
class Series:
    """The latest rows of each of n series, (n, length), the newest last and missing ones NaN; and their steps."""

    loss: Vector
    step: Integers
    position: Integers


@attrs.frozen(eq=False)
class Departure:
    """Rows that left the level of their series: `kind` is "fall", "rise" or "spike", `step` that of the first one."""

    series: int
    kind: str
    step: int
    z: float
    before: float
    after: float
    positions: tuple[int, ...]


def empty(series: int, length: int) -> Series:
    """Return the memory of so many series before their first row."""
    none = np.full((series, length), -1, np.int64)
    return Series(np.full((series, length), math.nan), none, none.copy())


def level(values: Vector) -> tuple[float, float]:
    """Return median and robust standard deviation, 1.4826 MAD; the latter is at least 2 % of the median's size."""
    centre = float(np.median(values))
    spread = 1.4826 * float(np.median(np.abs(values - centre)))
    return centre, max(spread, 0.02 * abs(centre), 1e-6)


def push(memory: Series, index: int, loss: float, step: int, position: int) -> None:
    """Append a row to a series, in place; the oldest one goes."""
    for table, value in ((memory.loss, loss), (memory.step, step), (memory.position, position)):
        table[index, :-1] = table[index, 1:].copy()
        table[index, -1] = value


def shifted(memory: Series, index: int, limit: float, k: int, m: int) -> Departure | None:
    """Return a level shift: at least k of the last m rows lie beyond `limit` robust deviations on one side.

    They are compared with the rows before them, at least 16, so that a shift does not hide itself, and must lie outside
    all of these, so that text of two kinds does not alarm. The last m rows are then all that the series remembers: the
    new level is learned, and nothing alarms for ever.
    """
    losses = memory.loss[index]
    history = losses[:-m][np.isfinite(losses[:-m])]
    if len(history) < ARMED:
        return None
    centre, spread = level(history)
    z = (losses[-m:] - centre) / spread
    low, high = losses[-m:] < history.min(), losses[-m:] > history.max()
    for side, kind in (((z < -limit) & low, "fall"), ((z > limit) & high, "rise")):
        if side.sum() >= k:
            places = np.flatnonzero(side) + len(losses) - m
            found = Departure(
                index,
                kind,
                int(memory.step[index, places[0]]),
                float(np.median(z[side])),
                centre,
                float(losses[places].mean()),
                tuple(memory.position[index, places].tolist()),
            )
            _restart(memory, index, m)
            return found
    return None


def spiked(memory: Series, index: int, limit: float, m: int) -> Departure | None:
    """Return a spike: the newest value lies more than `limit` robust deviations above its lagged level."""
    losses = memory.loss[index]
    history = losses[:-m][np.isfinite(losses[:-m])]
    if len(history) < ARMED:
        return None
    centre, spread = level(history)
    z = float((losses[-1] - centre) / spread)
    calm = not (losses[-m:-1] - centre > limit * spread).any()
    if z <= limit or not calm:
        return None
    return Departure(index, "spike", int(memory.step[index, -1]), z, centre, float(losses[-1]), ())


def expected(memory: Series, index: int) -> float:
    """Return the median of a series' remembered rows, NaN before the first."""
    known = memory.loss[index][np.isfinite(memory.loss[index])]
    return float(np.median(known)) if len(known) else math.nan


def _restart(memory: Series, index: int, m: int) -> None:
    for table, nothing in ((memory.loss, math.nan), (memory.step, -1), (memory.position, -1)):
        table[index, :-m] = nothing
