"""Spikes and level shifts in series of losses: robust z against a lagged median, and k of the last m entries."""

import math

import attrs
import numpy as np

from andrea_core import Integers, Mask, Vector

ARMED = 16
"""Entries that a level must have been known for before a departure from it is told."""


@attrs.frozen(eq=False)
class Series:
    """The latest entries of each of n series, (n, length), the newest last and missing ones NaN; and their steps.

    `since` (n,) counts the entries since a level shift was seen that has not been judged yet; -1 where there is none.
    `common` (n,) is what the other series, all but the last, did while a series left its level, in nats.
    """

    loss: Vector
    step: Integers
    position: Integers
    since: Integers
    common: Vector

    def copy(self) -> "Series":
        """Return the same entries in arrays of their own."""
        return Series(self.loss.copy(), self.step.copy(), self.position.copy(), self.since.copy(), self.common.copy())


@attrs.frozen(eq=False)
class Departure:
    """Entries that left the level of their series: `kind` is "fall", "rise" or "spike", `step` that of the first."""

    series: int
    kind: str
    step: int
    z: float
    before: float
    after: float
    positions: tuple[int, ...]

    @property
    def halfway(self) -> float:
        """The loss half the way from the old level to the new one."""
        return (self.before + self.after) / 2

    def beyond(self, losses: Vector) -> Vector:
        """Return which losses lie past the half way, on the side of the new level."""
        return np.asarray(losses < self.halfway if self.kind == "fall" else losses > self.halfway)


@attrs.frozen
class Rule:
    """What a level shift is: `k` of the last `m` entries beyond `limit` deviations of up to `history` before them.

    Entries of more than `span` steps before the last are not of the level, for the model has learned since; and for so
    many steps after it was seen a shift is followed.
    """

    limit: float
    k: int
    m: int
    history: int
    span: int

    def empty(self, series: int) -> Series:
        """Return the memory of so many series before their first entry."""
        shape = (series, self.history + self.m + self.span)
        none = np.full(shape, -1, np.int64)
        return Series(
            np.full(shape, math.nan), none, none.copy(), np.full(series, -1, np.int64), np.full(series, math.nan)
        )

    def enter(self, memory: Series, index: int, loss: float, step: int, position: int) -> Departure | None:
        """Append an entry to a series, in place, and return the level shift that it shows.

        While one is followed, no other is looked for; it is forgotten when m entries on end are back on the old side of
        the half way. After `span` entries the series waits to be judged, and takes none. A loss that is no number is
        no entry.
        """
        if memory.since[index] >= self.span or not math.isfinite(loss):
            return None
        push(memory, index, loss, step, position)
        if memory.since[index] < 0:
            found = self._shift(memory, index, 0)
            if found is not None:
                memory.since[index], memory.common[index] = 0, common(memory, found)
            return found
        memory.since[index] += 1
        if (
            memory.since[index] >= self.m
            and not self.followed(memory, index).beyond(memory.loss[index, -self.m :]).any()
        ):
            memory.since[index] = -1
        return None

    def followed(self, memory: Series, index: int) -> Departure:
        """Return the level shift that a series is followed for, as it was when it was seen. Raises ValueError."""
        found = self._shift(memory, index, int(memory.since[index]))
        if memory.since[index] < 0 or found is None:
            raise ValueError(f"series {index} has no level shift to follow")
        return found

    def settle(self, memory: Series, index: int) -> None:
        """Take the entries since a level shift for the new level, in place: what was before is forgotten."""
        keep = int(memory.since[index]) + self.m
        for table, nothing in ((memory.loss, math.nan), (memory.step, -1), (memory.position, -1)):
            table[index, :-keep] = nothing
        memory.since[index] = -1

    def _shift(self, memory: Series, index: int, ago: int) -> Departure | None:
        """Return the level shift that the entries show without the last `ago`.

        The last m entries are compared with those before them, at least 16, so that a shift does not hide itself, and
        must lie outside all of these, so that text of two kinds does not alarm.
        """
        end = memory.loss.shape[1] - ago
        losses = memory.loss[index, end - self.history - self.m : end]
        history = losses[: -self.m][self._known(memory, index, end)]
        if len(history) < ARMED:
            return None
        recent, (centre, spread) = losses[-self.m :], level(history)
        z = (recent - centre) / spread
        low, high = recent < history.min(), recent > history.max()
        for side, kind in (((z < -self.limit) & low, "fall"), ((z > self.limit) & high, "rise")):
            if side.sum() >= self.k:
                places = np.flatnonzero(side) + end - self.m
                return Departure(
                    index,
                    kind,
                    int(memory.step[index, places[0]]),
                    float(np.median(z[side])),
                    centre,
                    float(memory.loss[index, places].mean()),
                    tuple(memory.position[index, places].tolist()),
                )
        return None

    def _known(self, memory: Series, index: int, end: int) -> Mask:
        """Return which of the `history` entries before the last m up to `end` are of the level."""
        steps = memory.step[index, end - self.history - self.m : end]
        return np.asarray((steps[: -self.m] >= 0) & (steps[: -self.m] >= steps[-1] - self.span))

    def before(self, memory: Series, index: int, most: int) -> tuple[int, ...]:
        """Return the positions of up to so many entries of the level that a series was followed to leave."""
        end = memory.loss.shape[1] - int(memory.since[index])
        positions = memory.position[index, end - self.history - self.m : end - self.m]
        return tuple(positions[self._known(memory, index, end)][-most:].tolist())

    def late(self, memory: Series, index: int, step: int) -> bool:
        """Return whether the shift that a series is followed for was seen at least `span` steps ago."""
        seen = memory.step[index, memory.loss.shape[1] - 1 - int(memory.since[index])]
        return bool(step - seen >= self.span)


def common(memory: Series, event: Departure) -> float:
    """Return the median change of the other series since a shift's first entry, each against its level; NaN if none.

    The last series, that of the batch, does not count, nor does one with fewer than 16 entries before.
    """
    changes = []
    for index in range(len(memory.loss) - 1):
        steps, losses = memory.step[index], memory.loss[index]
        since, before = losses[steps >= event.step], losses[(steps >= 0) & (steps < event.step)]
        if index != event.series and len(since) and len(before) >= ARMED:
            changes.append(float(since.mean() - np.median(before[-4 * ARMED :])))
    return float(np.median(changes)) if changes else math.nan


def level(values: Vector) -> tuple[float, float]:
    """Return median and robust standard deviation, 1.4826 MAD; the latter is at least 0.05 nats.

    Below that a text that is known by heart would depart from its level with every slip.
    """
    centre = float(np.median(values))
    return centre, max(1.4826 * float(np.median(np.abs(values - centre))), 0.05)


def push(memory: Series, index: int, loss: float, step: int, position: int) -> None:
    """Append an entry to a series, in place; the oldest one goes."""
    for table, value in ((memory.loss, loss), (memory.step, step), (memory.position, position)):
        table[index, :-1] = table[index, 1:].copy()
        table[index, -1] = value


def spiked(memory: Series, index: int, limit: float, rule: Rule) -> Departure | None:
    """Return a spike: the newest value lies more than `limit` robust deviations above 0 and above its lagged level."""
    losses = memory.loss[index, -rule.history - rule.m :]
    history = losses[: -rule.m][np.isfinite(losses[: -rule.m])]
    if len(history) < ARMED:
        return None
    centre, spread = level(history)
    centre = max(centre, 0.0)  # where the rows' own level has fallen, the way back to 0 is no spike
    z = float((losses[-1] - centre) / spread)
    calm = not (losses[-rule.m : -1] - centre > limit * spread).any()
    if z <= limit or not calm:
        return None
    return Departure(index, "spike", int(memory.step[index, -1]), z, centre, float(losses[-1]), ())


def expected(memory: Series, index: int, rule: Rule) -> float:
    """Return the median of a series' latest entries, NaN before the first."""
    latest = memory.loss[index, -rule.history - rule.m :]
    known = latest[np.isfinite(latest)]
    return float(np.median(known)) if len(known) else math.nan
