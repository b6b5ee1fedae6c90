"""What a run writes down: the rows of its tables, and what observers and the display are told."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import numpy as np

from andrea_core.contracts import Observer
from andrea_core.errors import PluginError
from andrea_core.landscape.budget import worst
from andrea_core.phase import Director, Event, Phase, State
from andrea_core.progress import PhaseReport, Progress
from andrea_core.rewinding import passed_over
from andrea_core.runs.frames import MOST_COLUMNS
from andrea_core.runs.recorder import Recorder
from andrea_core.spelling import said
from andrea_core.stopwatch import ACCOUNTS, Stopwatch
from andrea_core.values import Findings, Measurement, Observation, Outcome, Vector

if TYPE_CHECKING:
    from andrea_core.landscape.budget import Cost


class Losses(Protocol):
    """What the steps of a phase showed, one entry a step: mean loss in nats a token, learning rate, gradient norm."""

    @property
    def loss(self) -> Any:
        """(steps,)."""

    @property
    def lr(self) -> Vector:
        """(steps,)."""

    @property
    def grad_norm(self) -> Any:
        """(steps,)."""


@attrs.define(eq=False)
class Record:
    """Books finished phases and findings, and passes them on."""

    recorder: Recorder
    director: Director
    progress: Progress
    groups: Mapping[str, str]
    """Where each probe's measurements go."""
    observers: list[tuple[str, Observer, Any]]
    tokens_per_step: int
    _kinds: dict[tuple[str, str], str] = attrs.field(factory=dict)
    _doubts: set[str] = attrs.field(factory=set)
    _seconds: float = 0.0
    _steps: int = 0

    def phase(
        self,
        before: State,
        after: State,
        phase: Phase,
        losses: Losses,
        outcome: Outcome,
        events: Sequence[Event],
        watch: Stopwatch,
    ) -> None:
        """Write a finished phase down."""
        tokens = np.full(phase.steps, self.tokens_per_step, np.int64)
        norms = losses.grad_norm.astype(np.float32)
        columns = {"loss": losses.loss, "lr": losses.lr, "grad_norm": norms, "tokens": tokens}
        self.recorder["steps"].extend(columns | shown_by_step(outcome.observation))
        taken, seconds = watch.steps, watch.read()
        if not len(self.recorder["phases"]):
            for name in ACCOUNTS:
                self.recorder.code("phases", "seconds", name)
        self.recorder["phases"].append(self._row(before, after, phase, outcome) | {"seconds": seconds})
        self.recorder["phases/notes"].append(dict(phase.landed.proposal.notes))
        for kind, text in events:
            self.event(before.step, kind, text)
        self._seconds, self._steps = self._seconds + float(seconds.sum()), self._steps + taken
        self.recorder.tick()
        self._tell(before, after, phase, losses, outcome)

    def findings(self, step: int, findings: Findings) -> None:
        """Write down what probes found at a step."""
        for name, measured in findings.measured.items():
            row = {key: _value(found.value) for key, found in measured.items() if key != "stop"}
            self._refuse_change(name, row)
            self._label(self.groups[name], measured)
            self.recorder[self.groups[name]].append({"step": np.int64(step), **row})
            if name in findings.costs:
                self._cost(step, name, findings.costs[name], measured)
            for key, found in measured.items():
                if found.status != "ok":
                    self._doubt(step, f"{name}.{key}: {found.status}")
        if findings.stop:
            self.event(step, "stop", findings.stop)

    def _label(self, group: str, measured: Mapping[str, Measurement]) -> None:
        """Name the columns of arrays with axes of their own by their places, counted from 1, as "2.1"."""
        for key, found in measured.items():
            if found.axes and not isinstance(found.value, str) and np.size(found.value) <= MOST_COLUMNS:
                self.recorder.name_places(group, key, np.shape(found.value))

    def _cost(self, step: int, name: str, cost: "Cost", measured: Mapping[str, Measurement]) -> None:
        """Write down what a look cost, and how far its values may be trusted: the worst status, and whose it is."""
        bad = [key for key, found in measured.items() if found.status != "ok"]
        status = f"{worst(measured[key].status for key in bad)}: {', '.join(bad)}" if bad else "ok"
        row = {"step": np.int64(step), "probe": self.recorder.code("looks", "probe", name), "status": status}
        counts = {key: np.int64(getattr(cost, key)) for key in ("losses", "gradients", "products")}
        self.recorder["looks"].append({**row, "seconds": np.float64(cost.seconds), **counts})

    def _refuse_change(self, probe: str, row: Mapping[str, Any]) -> None:
        """Raise PluginError when a probe's measurement is suddenly of another kind; its array has one."""
        for key, value in row.items():
            kind = "text" if isinstance(value, str) else f"{np.shape(value)} numbers"
            if self._kinds.setdefault((probe, key), kind) != kind:
                was = self._kinds[probe, key]
                raise PluginError(f"the probe {probe!r} returned {kind} as measurement {key!r}, before {was}")

    def _doubt(self, step: int, text: str) -> None:
        """Write down that a value is not to be trusted; shown once, since it may be so at every look."""
        self.event(step, "probe", text, shown=text not in self._doubts)
        self._doubts.add(text)

    def event(self, step: int, kind: str, text: str, *, shown: bool = True) -> None:
        """Write an event down and show it."""
        self.recorder["events"].append({"step": np.int64(step), "kind": kind, "text": text})
        if shown and kind != "stage":
            self.progress.note(f"step {step}: {text}")

    def report(self, before: State, after: State, phase: Phase, losses: Losses, total: int) -> PhaseReport:
        """Return what the display shows of a phase; rates are means over what this process trained, NaN before that."""
        rate = self._seconds / self._steps if self._steps else math.nan
        return PhaseReport(
            step=after.step,
            total=total,
            phase=before.phase,
            steps=phase.steps,
            stage=phase.stage.name,
            policy=phase.policy,
            loss=float(losses.loss.mean()),
            tokens_per_second=self.tokens_per_step / rate if rate else math.inf,
            seconds_left=rate * (total - after.step),
            weights=phase.landed.weights,
        )

    def close(self) -> None:
        """Write everything out and let the observers go."""
        self.recorder.flush()
        for name, observer, handle in self.observers:
            try:
                observer.close(handle)
            except (Exception, SystemExit) as error:
                self.progress.note(f"observer {name} failed to close: {error}")
        self.observers = []

    def _row(self, before: State, after: State, phase: Phase, outcome: Outcome) -> dict[str, Any]:
        return {
            "start": np.int64(before.step),
            "steps": np.int64(phase.steps),
            "stage": self.recorder.code("phases", "stage", phase.stage.name),
            "policy": self.recorder.code("phases", "policy", phase.policy),
            **decided(phase),
            "drawn": outcome.observation.rows_by_source(),
            "trained": outcome.observation.tokens_by_source(),
            "owed": after.sampler.carry,
            **learned(outcome),
            "epochs": self.director.sampler.ledger(after.sampler, after.trained).epochs,
            **shown_by_phase(outcome.observation),
            **({"passed_over": passed} if (passed := self._passed_over(before, outcome)).any() else {}),
        }

    def _passed_over(self, before: State, outcome: Outcome) -> Any:
        """Return the rows (K,) that rewinds passed over before a phase, since the beginning of the run."""
        return passed_over(before, int(outcome.observation.tokens[0, 0]))

    def _tell(self, before: State, after: State, phase: Phase, losses: Losses, outcome: Outcome) -> None:
        """Tell the observers; one that fails is reported and dropped, never the run."""
        if not self.observers:
            return
        names = self.director.sources.names
        told = {
            "phase": before.phase,
            "start": before.step,
            "steps": phase.steps,
            "stage": phase.stage.name,
            "policy": phase.policy,
            "loss": float(losses.loss.mean()),
            "lr": float(losses.lr[-1]),
            "weights": dict(zip(names, phase.landed.weights.tolist(), strict=True)),
            "reward": dict(zip(names, np.where(outcome.seen, outcome.reward, np.nan).tolist(), strict=True)),
            "trained": dict(zip(names, outcome.observation.tokens_by_source().tolist(), strict=True)),
        }
        for entry in list(self.observers):
            name, observer, handle = entry
            try:
                observer.phase(handle, told)
            except (Exception, SystemExit, GeneratorExit) as error:
                self.observers.remove(entry)
                self.event(after.step, "observer", f"observer {name} failed and is dropped: {said(error)}")


def decided(phase: Phase) -> dict[str, Vector]:
    """Return the arrays (K,) of a decision, as the record names them."""
    landed, region = phase.landed, phase.region
    return {"requested": landed.requested, "weights": landed.weights, "lower": region.lower, "upper": region.upper}


def learned(outcome: Outcome) -> dict[str, Vector]:
    """Return the arrays (K,) of what a phase taught, as the record names them."""
    return {"reward": np.where(outcome.seen, outcome.reward, np.nan), "loss": outcome.loss}


def shown_by_step(seen: Observation) -> dict[str, Any]:
    """Return what each step's rows showed, (steps, rows): with what `shown_by_phase` returns, all of an observation."""
    few = len(seen.weights) <= np.iinfo(np.int16).max
    rows = {"row_loss": _narrow(seen.loss), "row_source": seen.source.astype(np.int16 if few else np.int32)}
    return rows if seen.loss_after is None else {**rows, "row_loss_after": _narrow(seen.loss_after)}


def shown_by_phase(seen: Observation) -> dict[str, Vector]:
    """Return what was measured once a phase because a policy or reward needs it."""
    found = {} if seen.heldout is None else {"heldout": seen.heldout}
    found |= {} if seen.probed is None else {"probed": seen.probed}
    if seen.gradients is None:
        return found
    return {**found, "gradients_train": seen.gradients.train, "gradients_heldout": seen.gradients.heldout}


def _narrow(sums: Vector) -> Any:
    """Return numbers as float32 when that changes none of them: a device's sums were float32 in the first place."""
    with np.errstate(over="ignore"):
        small = sums.astype(np.float32)
    return small if np.array_equal(small, sums) else sums


def _value(value: Any) -> Any:
    return value if isinstance(value, str) else np.asarray(value, np.float64)
