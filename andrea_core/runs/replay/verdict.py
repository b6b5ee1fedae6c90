"""Whether a replay is what was recorded, bit for bit; else where the two part, in units in the last place."""

from collections.abc import Iterable

import attrs
import numpy as np

from andrea_core.runs.replay.director import Replayed
from andrea_core.runs.replay.recorded import Recorded
from andrea_core.values import Vector

ORDER = ("lower", "upper", "requested", "weights", "drawn", "owed", "loss", "reward", "epochs")
"""The arrays of a phase in the order in which one follows from the other."""


@attrs.frozen
class Difference:
    """The first thing that differs: in which phase, at which step and stage, which array, of which source.

    `recorded` and `replayed` are the values as texts; `ulps` is how far apart two numbers are, in units in the last
    place, None for what is no number. `source` is empty for what is no source's.
    """

    phase: int
    step: int
    stage: str
    array: str
    source: str
    recorded: str
    replayed: str
    ulps: int | None


@attrs.frozen
class Verdict:
    """The outcome of replaying a run with its own policy; `first` is None when every bit is the recorded one.

    `differing` counts the phases whose weights differ, by at most `largest` in any weight.
    """

    phases: int
    first: Difference | None
    differing: int
    largest: float


def verdict_of(recorded: Recorded, phases: Iterable[Replayed]) -> Verdict:
    """Compare a replay with the record."""
    first: Difference | None = None
    differing, largest, count = 0, 0.0, 0
    for phase in phases:
        index = phase.phase
        first = first or _difference(recorded, index, phase)
        apart = np.abs(phase.arrays["weights"] - recorded.phases["weights"][index]).max()
        differing, largest, count = differing + int(apart > 0), max(largest, float(apart)), count + 1
    return Verdict(count, first, differing, largest)


def ulps_between(one: float, other: float) -> int | None:
    """Return how many float64 numbers lie from one to the other, 0 for the same bits; None for a NaN against a number.

    >>> ulps_between(1.0, 1.0 + 2**-52), ulps_between(0.0, -0.0), ulps_between(-5e-324, 5e-324)
    (1, 1, 3)
    """
    if np.isnan(one) or np.isnan(other):
        return 0 if np.isnan(one) and np.isnan(other) else None
    return abs(_rank(one) - _rank(other))


def _rank(number: float) -> int:
    """Number the floats in their order, -0.0 right before 0.0."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else -(bits & (2**63 - 1)) - 1


def _difference(recorded: Recorded, index: int, phase: Replayed) -> Difference | None:
    was = recorded.phases

    def found(array: str, old: object, new: object, source: str = "", ulps: int | None = None) -> Difference:
        stage = recorded.decoded("stage")[index]
        return Difference(index, int(was["start"][index]), stage, array, source, str(old), str(new), ulps)

    if recorded.decoded("stage")[index] != phase.stage:
        return found("stage", recorded.decoded("stage")[index], phase.stage)
    for array in (name for name in ORDER if name in was and name in phase.arrays):
        place = _apart(was[array][index], phase.arrays[array])
        if place is not None:
            old, new = was[array][index][place], phase.arrays[array][place]
            return found(array, old, new, recorded.sources.names[place], ulps_between(float(old), float(new)))
    if recorded.decoded("policy")[index] != phase.policy:
        return found("policy", recorded.decoded("policy")[index], phase.policy)
    if int(was["steps"][index]) != phase.steps:
        return found("steps", was["steps"][index], phase.steps)
    return None


def _apart(old: Vector, new: Vector) -> int | None:
    """Return the first place where two arrays (K,) do not have the same bits; every NaN is the same."""
    one, other = (np.asarray(array, np.float64) for array in (old, new))
    same = (one.view(np.int64) == other.view(np.int64)) | (np.isnan(one) & np.isnan(other))
    return None if same.all() else int(np.flatnonzero(~same)[0])
