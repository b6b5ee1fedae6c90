"""Opens a run folder for reading: numpy arrays, decoded names and data frames of everything that was recorded."""

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import zarr

from andrea_core.errors import RunError
from andrea_core.runs.files import FACTS
from andrea_core.runs.soundness import check_descriptions, readable
from andrea_core.runs.table import Array, Named, Table, members

if TYPE_CHECKING:
    import pandas as pd

SCENARIO, STORE = "scenario.toml", "run.zarr"
REMEDY = "Name the folder that `andrea run` printed: it holds scenario.toml and run.zarr."
_STEPS = ("loss", "lr", "grad_norm", "tokens")
_ROWS = ("row_loss", "row_source")
_PHASES = ("start", "steps", "stage", "policy")
_BY_SOURCE = ("requested", "weights", "lower", "upper", "drawn", "trained", "reward", "loss", "epochs")
_LOOKS = ("step", "probe", "seconds", "losses", "gradients", "products")
_NEVER_BLANK = ("steps", "requested", "weights", "drawn", "trained")


class Run:
    """A recorded run, read-only. Arrays are read when first used; what was not recorded has no rows.

    `steps`, `phases`, `evals`, `samples` and `events` map an array's name to the array; `notes` and `probes` map a
    name to an array (phases, K) and to such a mapping. Rows are steps, phases, measurements; K is `len(sources)`.

    Steps are counted by how many are finished. A phase that starts at 40 begins when 40 steps are done: its first step
    is the 41st, `steps["loss"][40]`, labelled 41 in `frame("steps")`. A measurement at step 40 is of the model after
    40 steps; one at 0 is of the untrained model.
    """

    def __init__(self, folder: Path, store: zarr.Group) -> None:
        """Wrap an open store; use `open_run`."""
        self.folder = folder
        self.attributes: Mapping[str, Any] = cast("dict[str, Any]", store.attrs.asdict())
        self.sources: list[str] = [str(name) for name in self.attributes["sources"]]
        self.name = str(self.attributes.get("name", folder.name))
        self._store = store

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {len(self.sources)} sources, {self.steps.rows} steps, {self.phases.rows} phases)"

    @cached_property
    def steps(self) -> Table:
        """One row a step: loss (nats a token), lr, grad_norm, tokens (in the step); row_loss and row_source.

        Row i is the step that made the number of finished steps i + 1. `row_loss` (steps, rows) is each row's summed
        loss in nats, `row_source` (steps, rows) the number of its source; `row_loss_after`, the same rows' right after
        the step, only where a policy or reward needed it.
        """
        return self._table("steps", {**dict.fromkeys(_STEPS, ()), **dict.fromkeys(_ROWS, (0,))}, ("tokens",))

    @cached_property
    def phases(self) -> Table:
        """One row a phase: start, steps, stage, policy; and requested, weights, drawn, trained, ... (phases, K).

        `start` is the number of steps finished before the phase, so that its steps are rows [start, start + steps).
        `heldout` (phases, K), `gradients_train` and `gradients_heldout` (phases, K, K) are there only where a policy or
        reward needed them.
        """
        by_source = dict.fromkeys(_BY_SOURCE, (len(self.sources),))
        return self._table("phases", {**dict.fromkeys(_PHASES, ()), **by_source, "seconds": (0,)}, _NEVER_BLANK)

    @cached_property
    def notes(self) -> Mapping[str, Array]:
        """What policies noted, name to (phases, K); NaN where the acting policy noted nothing."""
        notes = self._table("phases/notes", {})
        fitted = {name: _fitted(notes[name], self.phases.rows) for name in notes}
        return Named("Notes", fitted, lambda array: str(array.shape))

    @cached_property
    def evals(self) -> Table:
        """One row a held-out measurement: step (the number of steps finished by then), bits_per_byte (rows, K)."""
        return self._table("eval", {"step": (), "bits_per_byte": (len(self.sources),)})

    @cached_property
    def samples(self) -> Table:
        """One row a generated text: step (finished by then), text, score."""
        return self._table("samples", {"step": (), "text": (), "score": ()})

    @cached_property
    def events(self) -> Table:
        """One row an event: step (finished by then), kind, text."""
        return self._table("events", {"step": (), "kind": (), "text": ()})

    @cached_property
    def looks(self) -> Table:
        """One row a look of a probe: step, probe (decoded by `decoded`), seconds, losses, gradients, products, status.

        `losses`, `gradients` and `products` (with the Hessian) count passes over the probe's text; `status` is "ok", or
        the worst status of its values and the names of all that are not ok.
        """
        return self._table("looks", dict.fromkeys((*_LOOKS, "status"), ()))

    @cached_property
    def probes(self) -> Mapping[str, Table]:
        """Each probe's measurements, with `step` (finished by then), by the probe's name."""
        group = self._group("probes")
        check_descriptions(self.folder / STORE / "probes")
        with readable(self.folder / STORE / "probes"):
            names = [] if group is None else sorted(str(name) for name in group.group_keys())
        tables = {name: self._table(f"probes/{name}", {"step": ()}) for name in names}
        return Named("Probes", tables, repr)

    @cached_property
    def scenario(self) -> str:
        """The resolved scenario's text; empty when the file is gone."""
        path = self.folder / SCENARIO
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """What run.json says of the machine: device, threads, versions; empty when the file is gone or torn."""
        try:
            found = json.loads((self.folder / FACTS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def weights(self) -> "pd.DataFrame":
        """The landed weights as a frame: a row a phase (indexed by its `start`), a column a source."""
        return self.frame("weights")

    def frame(self, what: str) -> "pd.DataFrame":
        """Return a pandas frame.

        `what` is "steps", "rows" (tidy: step, row, source, loss in nats), "phases" (scalar columns, names decoded),
        "evals" (tidy: step, source, bits_per_byte),
        "samples", "events", "looks", "probes/NAME", "notes/NAME", or one of the arrays of `phases` with a column a
        source ("weights", "drawn", ...). Raises RunError for anything else.

        "step" always counts finished steps. The index of "steps" is the count after the row's own step, from 1;
        a phase, indexed by its `start`, is [start, until), and holds the rows start + 1 to until of "steps"; `step` in
        the others is the count at the moment of the measurement or event, 0 before training.
        """
        from andrea_core.runs.frames import frame

        return frame(self, what)

    def stored(self, path: str) -> Mapping[str, "zarr.Array[Any]"]:
        """Return a group's arrays as they lie on disk, neither cut to the shortest nor read; none if it is absent."""
        group = self._group(path)
        return {} if group is None else members(group)

    def _group(self, path: str) -> zarr.Group | None:
        with readable(f"{self.folder / STORE / path}"):
            found = self._store.get(path)
        return found if isinstance(found, zarr.Group) else None

    def _table(self, path: str, known: Mapping[str, tuple[int, ...]], never_blank: tuple[str, ...] = ()) -> Table:
        return Table(self._group(path), known, never_blank)


def open_run(path: str | os.PathLike[str]) -> Run:
    """Open a run for reading; `path` is the run's folder or the run.zarr in it.

    Raises RunError, saying what is missing and what to do, when the path is no run.
    """
    given = Path(path)
    folder = given.parent if given.name == STORE else given
    store = folder / STORE
    if not given.exists():
        raise RunError(f"{given}: there is no such folder. {REMEDY}")
    if not store.is_dir():
        raise RunError(f"{given}: this is not a run folder, there is no {STORE} in it. {REMEDY}")
    return Run(folder, _opened(store))


def _opened(store: Path) -> zarr.Group:
    try:
        group = zarr.open_group(store, mode="r")
        sources = group.attrs.asdict().get("sources")
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise RunError(f"{store}: the record cannot be read ({_reason(error)}). {REMEDY}") from error
    if not isinstance(sources, list) or not sources:
        raise RunError(f"{store}: the record names no sources (root attribute `sources`), so it is no run's. {REMEDY}")
    return group


def _reason(error: Exception) -> str:
    return f"invalid JSON: {error}" if isinstance(error, json.JSONDecodeError) else str(error) or type(error).__name__


def _fitted(array: Array, rows: int) -> Array:
    """Cut an array to `rows`, or lengthen it with NaN."""
    short = max(0, rows - len(array))
    return np.concatenate([array[:rows], np.full((short, *array.shape[1:]), np.nan)])
