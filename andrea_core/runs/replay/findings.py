"""What probes found at the borders of a recorded run, for curricula that react to it."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from andrea_core.phase import Director, Phase
from andrea_core.plan import probe_groups
from andrea_core.runs.store import Run
from andrea_core.runs.table import Table
from andrea_core.scenario import ProbeSlot
from andrea_core.values import Findings, Measurement


@attrs.frozen(eq=False)
class Looks:
    """The recorded measurements of a run's probes: each with its name, when it looks, and the table it went to."""

    probes: Sequence[tuple[str, ProbeSlot, Table]]
    statuses: Mapping[int, Sequence[str]]
    """By step, the events "probe.measurement: status" of values that are not to be trusted."""

    @classmethod
    def of(cls, run: Run, director: Director) -> "Looks":
        """Find the probes' tables of a run."""
        slots = director.scenario.probes
        tables: dict[str, Table] = {"eval": run.evals, "samples": run.samples}
        probes = []
        groups = probe_groups(director.scenario, director.catalogue)
        for (name, group), slot in zip(groups.items(), slots, strict=True):
            table = tables.get(group) or run.probes.get(group.removeprefix("probes/"), _NOTHING)
            probes.append((name, slot, table))
        return cls(probes, _statuses(run))

    def at(self, phase: Phase, step: int, total: int) -> Findings:
        """Return what the curriculum was shown after a phase that ended at a step.

        A table may hold more rows of the step: those of a last look, after a probe stopped the run, come later.
        """
        from andrea_core.looking import due

        measured: dict[str, Mapping[str, Measurement]] = {}
        for name, slot, table in self.probes:
            if due(slot, step, phase, total):
                place = int(np.searchsorted(table["step"], step))
                if place < table.rows and table["step"][place] == step:
                    measured[name] = self._row(name, table, place, step)
        return Findings(measured)

    def _row(self, name: str, table: Table, place: int, step: int) -> dict[str, Measurement]:
        found = {key: _value(table[key][place]) for key in table if key != "step"}
        return {key: Measurement(value, self._status(f"{name}.{key}: ", step)) for key, value in found.items()}

    def _status(self, prefix: str, step: int) -> str:
        return next((t.removeprefix(prefix) for t in self.statuses.get(step, ()) if t.startswith(prefix)), "ok")


_NOTHING = Table(None, {"step": ()})


def _value(value: Any) -> Any:
    return str(value) if isinstance(value, str) else np.asarray(value, np.float64)


def _statuses(run: Run) -> dict[int, list[str]]:
    events = run.events
    found: dict[int, list[str]] = {}
    if events.has("step", "kind", "text"):
        for step, kind, text in zip(events["step"], events["kind"], events["text"], strict=True):
            if kind == "probe":
                found.setdefault(int(step), []).append(str(text))
    return found
