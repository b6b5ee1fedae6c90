"""Rules that end a stage: a cliff of the training loss, a plateau, a probe's measurement past a threshold."""

import math
from typing import Any, Protocol

import attrs
import numpy as np

from andrea_core import (
    Findings,
    Measurement,
    Observation,
    Outcome,
    ScenarioError,
    Sources,
    Vector,
    number,
    one_of,
    positive,
    source_names,
)

LONGEST = 100_000
"""Values that a rule remembers at most: they are part of every checkpoint."""


def some(_rule: Any, attribute: "attrs.Attribute[Any]", sources: tuple[str, ...] | None) -> None:
    """Refuse an empty list of sources: a rule that watches none never ends its stage."""
    if sources is not None and not sources:
        raise ValueError(f"{attribute.name} must name at least one source; leave it out to watch all")


@attrs.frozen(eq=False)
class Memory:
    """What a rule remembers: which sources it watches, (K,) of 0 and 1, and its last values, NaN where none are."""

    watched: Vector
    values: Vector

    def but(self, values: Vector) -> "Memory":
        """Return a memory of the same sources with the last of other values; its length stays."""
        count = len(self.values)
        kept = values[-count:]
        return Memory(self.watched, np.concatenate([np.full(count - len(kept), np.nan), kept]))

    @property
    def known(self) -> Vector:
        """The values there are, oldest first."""
        return self.values[~np.isnan(self.values)]


class Rule(Protocol):
    """What ends a stage, and what it remembers from phase to phase."""

    def start(self, sources: Sources) -> Memory:
        """Return the memory of nothing."""

    def look(self, memory: Memory, outcome: Outcome, findings: Findings) -> tuple[Memory, str]:
        """Return the memory after a phase, and the reason to end the stage; no reason is an empty text."""


def _watched(names: tuple[str, ...] | None, sources: Sources) -> Vector:
    return np.array([names is None or name in names for name in sources.names], np.float64)


def _called(names: tuple[str, ...] | None) -> str:
    return "the loss" if names is None else f"the loss of {', '.join(names)}"


@attrs.frozen
class Cliff:
    """The training loss moves by `nats` or more between two neighbouring windows of `window` steps each.

    The loss of a step is the token-weighted mean over the rows of `sources`, all if left out; steps that drew none of
    them count in no window. `way` says which cliffs count: those that "fall", those that "jump", or "either".
    """

    nats: float = positive()
    window: int = number(default=10, at_least=1, at_most=LONGEST)
    way: str = one_of("fall", "jump", "either", default="either")
    sources: tuple[str, ...] | None = source_names(default=None, validator=some)

    def start(self, sources: Sources) -> Memory:
        """Return the memory of two windows without a step."""
        return Memory(_watched(self.sources, sources), np.full(2 * self.window, np.nan))

    def look(self, memory: Memory, outcome: Outcome, findings: Findings) -> tuple[Memory, str]:
        """Return the last two windows, and the first cliff of this phase in words."""
        new, at = step_losses(outcome.observation, memory.watched)
        losses = np.concatenate([memory.known, new])
        after = memory.but(losses)
        rise = neighbouring_rise(losses, self.window)
        size = {"fall": -rise, "jump": rise, "either": np.abs(rise)}[self.way]
        steep = np.flatnonzero(size[-len(new) :] >= self.nats) if len(new) and len(size) else np.zeros(0, int)
        if not len(steep):
            return after, ""
        offset = max(0, len(new) - len(size))  # the first steps of a stage end no window
        by, step = rise[-len(new) :][steep[0]], at[steep[0] + offset]
        verb = "fell" if by < 0 else "jumped"
        return after, (
            f"cliff: {_called(self.sources)} {verb} by {abs(by):.3g} nats a token within {self.window} steps, "
            f"at step {step}"
        )


def step_losses(observation: Observation, watched: Vector) -> tuple[Vector, list[int]]:
    """Return the mean loss of each step in nats a token over the watched sources (K,), and the steps, counted finished.

    Steps without a row of them, or with a loss that is not finite, are left out.
    """
    mine = watched[observation.source]
    tokens = (observation.tokens * mine).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        losses = np.where(mine > 0, observation.loss, 0.0).sum(axis=1) / tokens
    known = np.flatnonzero(np.isfinite(losses))
    return losses[known], (observation.step - len(losses) + 1 + known).tolist()


def neighbouring_rise(values: Vector, window: int) -> Vector:
    """Return, for each place where two windows end, the mean of the later minus the mean of the earlier."""
    if len(values) < 2 * window:
        return np.zeros(0)
    means = np.lib.stride_tricks.sliding_window_view(values, window).mean(axis=-1)
    return np.asarray(means[window:] - means[:-window])


@attrs.frozen
class Plateau:
    """The straight line through the last `over` values falls by less than `fall`, or rises.

    A value a phase: the training loss in nats a token over `sources` (all if left out). It moves with the weights too;
    with `probe` the values are that probe's `measurement` instead, one each time that it looks, which for held-out
    losses does not. A measurement with one number a source is averaged over `sources`.
    """

    fall: float = positive()
    over: int = number(default=20, at_least=2, at_most=LONGEST)
    sources: tuple[str, ...] | None = source_names(default=None, validator=some)
    probe: str | None = None
    measurement: str = "bits_per_byte"

    def start(self, sources: Sources) -> Memory:
        """Return the memory of no value."""
        return Memory(_watched(self.sources, sources), np.full(self.over, np.nan))

    def look(self, memory: Memory, outcome: Outcome, findings: Findings) -> tuple[Memory, str]:
        """Return the last values, and by how little they fell, in words."""
        value = (
            phase_loss(outcome.observation, memory.watched)
            if self.probe is None
            else measured(findings, self.probe, self.measurement, memory.watched)
        )
        if value is None:
            return memory, ""
        after = memory.but(np.append(memory.known, value))
        if len(after.known) < self.over:
            return after, ""
        fell = -slope(after.known) * (self.over - 1)
        if fell >= self.fall:
            return after, ""
        what = _called(self.sources) if self.probe is None else f"{self.probe}.{self.measurement}"
        return after, f"plateau: {what} fell by {fell:.3g} over {self.over} values, less than {self.fall:g}"


def phase_loss(observation: Observation, watched: Vector) -> float | None:
    """Return the mean training loss of a phase over the watched sources (K,) in nats a token, None without a token."""
    mine = watched[observation.source] > 0
    tokens = int(observation.tokens[mine].sum())
    loss = float(observation.loss[mine].sum()) / tokens if tokens else np.nan
    return loss if np.isfinite(loss) else None


def slope(values: Vector) -> float:
    """Return the slope of the least-squares line through equally spaced values, per value."""
    at = np.arange(len(values)) - (len(values) - 1) / 2
    return float(at @ (values - values.mean()) / (at @ at))


def _one_side(rule: "Threshold", _attribute: "attrs.Attribute[Any]", above: float | None) -> None:
    if (rule.below is None) == (above is None):
        raise ValueError("below and above: give one of them, the threshold to be crossed")
    if above is not None and not math.isfinite(above):
        raise ValueError(f"above must be finite, got {above!r}: nothing would ever cross it")


@attrs.frozen
class Threshold:
    """The `measurement` of the probe `name` is below `below` (or above `above`) `looks` times in a row.

    A measurement with one number a source is averaged over `sources` (all if left out).
    """

    name: str = attrs.field()
    measurement: str = attrs.field()
    below: float | None = number(default=None)
    above: float | None = attrs.field(default=None, validator=_one_side)
    looks: int = number(default=1, at_least=1, at_most=LONGEST)
    sources: tuple[str, ...] | None = source_names(default=None, validator=some)

    def start(self, sources: Sources) -> Memory:
        """Return the memory of no value past the threshold."""
        return Memory(_watched(self.sources, sources), np.full(self.looks, np.nan))

    def look(self, memory: Memory, outcome: Outcome, findings: Findings) -> tuple[Memory, str]:
        """Return the values past the threshold in a row, and the last of them in words once there are enough."""
        value = measured(findings, self.name, self.measurement, memory.watched)
        if value is None:
            return memory, ""
        crossed = value < self.below if self.below is not None else value > (self.above or 0.0)
        after = memory.but(np.append(memory.known, value) if crossed else np.zeros(0))
        if len(after.known) < self.looks:
            return after, ""
        side = f"below {self.below:g}" if self.below is not None else f"above {self.above:g}"
        times = f", {self.looks} times in a row" if self.looks > 1 else ""
        return after, f"probe: {self.name}.{self.measurement} is {value:.4g}, {side}{times}"


def measured(findings: Findings, probe: str, measurement: str, watched: Vector) -> float | None:
    """Return what a probe measured, averaged over the watched sources (K,) if it is one number a source.

    An array with axes of its own, as one number a head, is averaged whole.
    None when the probe did not look or found nothing finite. Raises ScenarioError when it measures no such number.
    """
    found = findings.measured.get(probe)
    if found is None:
        return None
    one = found.get(measurement)
    if not isinstance(one, Measurement) or isinstance(one.value, str):
        numeric = ", ".join(name for name, value in found.items() if not isinstance(value.value, str))
        raise ScenarioError(
            f"the probe {probe!r} measures no number called {measurement!r}; its numbers are {numeric or 'none'}"
        )
    values = np.asarray(one.value, np.float64)
    by_source = values.ndim and not one.axes
    known = values[np.isfinite(values) & (watched > 0)] if by_source else values[np.isfinite(values)]
    return float(known.mean()) if known.size else None
