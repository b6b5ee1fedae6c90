"""Data frames of a recorded run: steps, phases, weights, held-out loss, samples, events and probes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from andrea_core.errors import RunError
from andrea_core.runs.table import Array, Table

if TYPE_CHECKING:
    from andrea_core.runs.store import Run

MOST_COLUMNS = 1024


def frame(run: "Run", what: str) -> pd.DataFrame:
    """Return the frame named `what`, as `Run.frame` describes; raises RunError for an unknown name."""
    simple = {"steps": _steps, "rows": _batches, "phases": _phases, "evals": _evals, "looks": _looks}
    if what in simple:
        return simple[what](run)
    if what in ("samples", "events"):
        return _rows(run.samples if what == "samples" else run.events, run.sources)
    kind, _, name = what.partition("/")
    if kind == "probes" and name in run.probes:
        return _rows(run.probes[name], run.sources)
    if kind == "notes" and name in run.notes:
        return _by_source(run, run.notes[name])
    if _is_by_source(run, what):
        return _by_source(run, run.phases[what])
    raise RunError(f"{run.folder}: no frame {what!r}; there is {', '.join(_names(run))}.")


def _names(run: "Run") -> list[str]:
    arrays = [name for name in run.phases if _is_by_source(run, name)]
    probes = [f"probes/{name}" for name in run.probes]
    notes = [f"notes/{name}" for name in run.notes]
    return ["steps", "phases", "rows", "evals", "samples", "events", "looks", *(arrays or ["weights"]), *notes, *probes]


def _is_by_source(run: "Run", name: str) -> bool:
    try:
        return run.phases[name].ndim == 2 and name != "seconds"
    except KeyError:
        return False


def _steps(run: "Run") -> pd.DataFrame:
    """A row a step; the index counts the steps finished with it: 1 for the first, row `start + 1` opens a phase."""
    return pd.DataFrame(_flat(run.steps), index=pd.RangeIndex(1, run.steps.rows + 1, name="step"))


def _batches(run: "Run") -> pd.DataFrame:
    """Tidy rows of every batch: step (finished with it, from 1), row in its batch, source, summed loss in nats."""
    loss, source = run.steps["row_loss"], run.steps["row_source"]
    steps, rows = loss.shape if len(loss) == len(source) else (0, 0)
    names = np.array(run.sources, object)
    return pd.DataFrame(
        {
            "step": np.repeat(np.arange(1, steps + 1), rows),
            "row": np.tile(np.arange(rows), steps),
            "source": names[source[:steps].ravel()],
            "loss": loss[:steps].ravel(),
        }
    )


def _phases(run: "Run") -> pd.DataFrame:
    """A row a phase: start, until, steps, stage, policy, and the seconds that its parts took.

    `start` and `until` are the numbers of steps finished before and after it.
    """
    phases = run.phases
    table: dict[str, Array | list[str]] = dict(_flat(phases))
    for name in ("stage", "policy"):
        if name in table:
            table[name] = phases.decoded(name)
    if phases.has("start", "steps"):
        table["until"] = phases["start"] + phases["steps"]
    if "seconds" in phases:
        names = phases.names("seconds")
        columns = zip(names, phases["seconds"].T, strict=False)
        table |= {f"seconds_{name}": column for name, column in columns}
    return pd.DataFrame(table, index=pd.RangeIndex(phases.rows, name="phase"))


def _evals(run: "Run") -> pd.DataFrame:
    """Tidy held-out loss: step (the number finished by then, 0 before training), source, bits_per_byte."""
    steps, bits = run.evals["step"], run.evals["bits_per_byte"]
    rows, count = (min(len(steps), len(bits)), len(run.sources))
    return pd.DataFrame(
        {
            "step": np.repeat(steps[:rows].astype(np.int64), count),
            "source": run.sources * rows,
            "bits_per_byte": bits[:rows].ravel(),
        }
    )


def _looks(run: "Run") -> pd.DataFrame:
    """A row a look of a probe: step, probe, seconds, losses, gradients, products, status."""
    table: dict[str, Array | list[str]] = dict(_flat(run.looks))
    return pd.DataFrame(table | ({"probe": run.looks.decoded("probe")} if "probe" in run.looks else {}))


def _by_source(run: "Run", array: Array) -> pd.DataFrame:
    start = run.phases["start"]
    index = pd.Index(start.astype(np.int64), name="start") if len(start) == len(array) else None
    return pd.DataFrame(array, columns=pd.Index(run.sources, name="source"), index=index)


def _rows(table: Table, sources: list[str]) -> pd.DataFrame:
    """A row a record; an array with several numbers a row is spread over columns, by source where it has K of them.

    One with more than 1,024 numbers a row, such as an attention map, stays out: read it from the table.
    """
    columns: dict[str, Array] = {}
    for name in table:
        array = table[name]
        if array.ndim == 1:
            columns[name] = array.astype(object) if array.dtype.kind == "T" else array
        elif (flat := array.reshape(len(array), -1)).shape[1] <= MOST_COLUMNS:
            labels = labels_of(table, name, flat.shape[1], sources)
            columns |= {f"{name}_{label}": column for label, column in zip(labels, flat.T, strict=True)}
    return pd.DataFrame(columns)


def labels_of(table: Table, name: str, width: int, sources: list[str]) -> list[str]:
    """Return labels for an array's columns: its attribute `names`, the sources if it has one a source, or numbers."""
    by_source = sources if table[name].ndim == 2 else []
    fitting = (names for names in (table.names(name), by_source) if len(names) == width)
    return next(fitting, [str(column) for column in range(width)])


def _flat(table: Mapping[str, Array]) -> dict[str, Array]:
    return {name: table[name] for name in table if table[name].ndim == 1}
