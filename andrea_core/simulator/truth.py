"""The truth of a simulated learner: what every source teaches every other, as a law of losses and progress."""

import math
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from typing import Any

import attrs
import numpy as np

from andrea_core.errors import ScenarioError
from andrea_core.values import Integers, Mask, Vector

STALE = 1e-9
"""Progress of this relative size is forgotten altogether when a stretch of steps is cut."""


@attrs.frozen(eq=False)
class Change:
    """From step `step` on, tokens teach by `transfer` (K, K) instead of what held before."""

    step: int
    transfer: Vector


@attrs.frozen(eq=False, slots=False)
class Truth:
    """L_i = E_i + B_i (o_i + u_i)^(-a_i), with the progress u_i = sum_j M_ij n_j / unit of source i.

    n_j counts the tokens trained on source j. All arrays are (K,) but `transfer` M (K, K), all entries finite and not
    negative. `floor` E, `scale` B: nats a token; `exponent` a > 0; `offset` o > 0 keeps the loss finite at n = 0.
    `noise` is the standard deviation of a row's mean loss, nats a token. `tokens` are the sources' sizes. Where
    `retention` < 1, progress shrinks by that factor in each step. `target` marks the sources whose mean loss counts,
    `pure_noise` those that teach nothing and cannot be learnt. `changes` are in the order of their steps.
    """

    name: str
    floor: Vector
    scale: Vector
    exponent: Vector
    offset: Vector
    transfer: Vector
    noise: Vector
    tokens: Integers
    unit: float
    target: Mask
    pure_noise: Mask
    retention: float = 1.0
    changes: tuple[Change, ...] = ()

    def __len__(self) -> int:
        return len(self.floor)

    @cached_property
    def digest(self) -> str:
        """What tells two truths apart: a SHA-256 of every number in it; the name does not count."""
        numbers = [getattr(self, field.name) for field in attrs.fields(Truth) if field.name not in ("name", "changes")]
        numbers += [part for change in self.changes for part in (change.step, change.transfer)]
        return sha256(b"".join(np.asarray(one).tobytes() for one in numbers)).hexdigest()

    def loss(self, progress: Vector) -> Vector:
        """Return the losses (..., K) in nats a token at a progress (..., K)."""
        return np.asarray(self.floor + self.scale * (self.offset + progress) ** -self.exponent)

    def slope(self, progress: Vector) -> Vector:
        """Return -dL_i/du_i, (..., K): the nats that a unit of progress takes off each loss."""
        return np.asarray(self.exponent * self.scale * (self.offset + progress) ** (-self.exponent - 1))

    @cached_property
    def share(self) -> Vector:
        """(K,) each target's part of the mean loss, 0 elsewhere."""
        return np.asarray(self.target / self.target.sum())

    def mean(self, progress: Vector) -> Any:
        """Return the mean loss of the target sources at a progress (..., K): what policies are to make small."""
        return self.loss(progress) @ self.share

    def teaching(self, step: int) -> Vector:
        """Return the (K, K) progress of source i by a token of source j, for the step after `step` finished ones."""
        begun = sum(change.step <= step for change in self.changes)
        return self._rates[begun]

    @cached_property
    def _rates(self) -> tuple[Vector, ...]:
        """Progress by a token, (K, K) each: at first, and after each change."""
        return tuple(np.asarray(one / self.unit) for one in (self.transfer, *(c.transfer for c in self.changes)))

    def borders(self, start: int, until: int) -> list[int]:
        """Return `start`, the steps between at which the teaching changes, and `until`."""
        return [start, *sorted({change.step for change in self.changes if start < change.step < until}), until]

    def advance(self, progress: Vector, tokens: Vector, step: int) -> Vector:
        """Return the progress (steps + 1, K) before the first and after each of several steps.

        `tokens` (steps, K) are trained from `step` finished steps on: u <- retention u + M tokens / unit.
        """
        borders = self.borders(step, step + len(tokens))
        found = [progress[None]]
        for start, until in pairwise(borders):
            gains = tokens[start - step : until - step] @ self.teaching(start).T
            found += _followed(found[-1][-1], gains, self.retention)
        return np.concatenate(found)


def _followed(progress: Vector, gains: Vector, retention: float) -> list[Vector]:
    """Return the progress after each gain, in blocks (n, K)."""
    if retention == 1.0:
        return [progress + np.cumsum(gains, axis=0)]
    blocks = []
    size = max(1, int(math.log(STALE) / math.log(retention)))  # powers of the retention stay far from underflow
    for first in range(0, len(gains), size):
        block = gains[first : first + size]
        powers = retention ** np.arange(1, len(block) + 1)[:, None]
        blocks.append(powers * (progress + np.cumsum(block / powers, axis=0)))
        progress = blocks[-1][-1]
    return blocks


def checked(truth: Truth) -> Truth:
    """Return a truth as it is; raises ScenarioError, naming the field, when its arrays do not fit together."""
    count = len(truth)
    shapes = dict.fromkeys(("scale", "exponent", "offset", "noise", "tokens", "target", "pure_noise"), (count,))
    for name, shape in {**shapes, "transfer": (count, count)}.items():
        found = np.shape(getattr(truth, name))
        if found != shape:
            raise _wrong(truth, name, f"must have the shape {shape}, as `floor` has {count} entries; it has {found}")
    for name in ("floor", "scale", "transfer", "noise"):
        _require(truth, name, getattr(truth, name) >= 0, "finite and not negative")
    for name in ("exponent", "offset", "tokens"):
        _require(truth, name, getattr(truth, name) > 0, "finite and greater than 0")
    for index, change in enumerate(truth.changes):
        if np.shape(change.transfer) != (count, count) or not np.all(change.transfer >= 0):
            raise _wrong(truth, f"changes[{index}].transfer", f"must be {count} rows of {count} numbers from 0 on")
    if not (math.isfinite(truth.unit) and truth.unit > 0):
        raise _wrong(truth, "unit", f"must be greater than 0, got {truth.unit}")
    if not 0 < truth.retention <= 1:
        raise _wrong(truth, "retention", f"must be greater than 0 and at most 1, got {truth.retention}")
    if not truth.target.any():
        raise _wrong(truth, "target", "must name at least one source")
    return truth


def _require(truth: Truth, name: str, fits: Mask, words: str) -> None:
    value = np.asarray(getattr(truth, name), np.float64)
    wrong = np.argwhere(~(fits & np.isfinite(value)))
    if len(wrong):
        place = "".join(f"[{i}]" for i in wrong[0])
        raise _wrong(truth, f"{name}{place}", f"must be {words}, got {value[tuple(wrong[0])]}")


def _wrong(truth: Truth, field: str, what: str) -> ScenarioError:
    return ScenarioError(f"the truth {truth.name}: {field} {what}")
