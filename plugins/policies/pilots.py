"""Pilots: what past runs or a table say about mixtures and the losses that they led to; planners fit them."""

import csv
import glob
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
import numpy as np

from andrea_core import AndreaError, ScenarioError, Sources, Vector, by_source, open_run

WEIGHT, LOSS = "weight.", "loss."
"""How the columns of a table are called: `weight.chat`, `loss.chat`."""
COLUMNS = f"columns `{WEIGHT}SOURCE` and `{LOSS}SOURCE`"


@attrs.frozen(eq=False)
class Pilots:
    """N mixtures and their losses: rows of `weights` (N, K) sum to 1, `losses` (N, K) are NaN where not measured."""

    weights: Vector
    losses: Vector

    @property
    def measured(self) -> Vector:
        """(K,) True for the sources whose loss every pilot has."""
        return np.asarray(np.isfinite(self.losses).all(axis=0))


def read_pilots(runs: Sequence[str], tables: Sequence[str], weights: str, sources: Sources, who: str) -> Pilots:
    """Return what the run folders (patterns) and the CSV tables (patterns) hold.

    `weights` says which weights of a run count: "trained", its shares of the tokens, or "landed", the mean over steps.
    Raises ScenarioError, naming `who` asks, for what cannot be read, for sources that do not fit, and for no pilot.
    """
    found = [_of_run(Path(path), weights, sources, who) for path in _files(runs, who)]
    rows = [row for path in _files(tables, who) for row in _of_table(Path(path), sources, who)]
    both = [*found, *rows]
    if not both:
        raise ScenarioError(f"{who}: there is no pilot; give `runs`, folders of past runs, or `tables`, CSV files")
    pilots = Pilots(np.array([one for one, _ in both]), np.array([other for _, other in both]))
    if not pilots.measured.any():
        raise ScenarioError(f"{who}: no source has a held-out loss in every pilot; measure the same sources in all")
    return pilots


def goal(target: Mapping[str, float], pilots: Pilots, sources: Sources, who: str) -> Vector:
    """Return how much each source's loss counts (K,), summing to 1: as `target` says; if it is empty, all alike.

    Raises ScenarioError for a target whose loss not every pilot has.
    """
    wanted = by_source(target, sources, f"{who}, target") if target else pilots.measured.astype(float)
    for index in np.flatnonzero((wanted > 0) & ~pilots.measured.astype(bool)):
        raise ScenarioError(f"{who}: target names {sources.names[index]!r}, whose loss not every pilot has")
    if not wanted.any():
        raise ScenarioError(f"{who}: target must give at least one source more than 0")
    return np.asarray(wanted / wanted.sum())


def _files(patterns: Sequence[str], who: str) -> list[str]:
    found = []
    for pattern in patterns:
        matches = sorted(glob.glob(str(Path(pattern).expanduser())))  # noqa: PTH207 (pathlib's takes no absolute one)
        if not matches:
            raise ScenarioError(f"{who}: nothing matches {pattern!r}; check the path")
        found += matches
    return list(dict.fromkeys(found))


def _of_run(folder: Path, weights: str, sources: Sources, who: str) -> tuple[Vector, Vector]:
    try:
        run = open_run(folder)
        if not run.evals.has("bits_per_byte") or not run.evals.rows or not run.phases.rows:
            raise ScenarioError(f"{folder} has no held-out measurement; run it with the probe heldout, `at_end = true`")
        if weights == "trained":
            used = run.phases["trained"].astype(np.float64).sum(axis=0)
        else:
            used = (run.phases["weights"] * run.phases["steps"][:, None]).sum(axis=0)
        losses = dict(zip(run.sources, run.evals["bits_per_byte"][-1].astype(np.float64).tolist(), strict=True))
    except AndreaError as error:
        raise ScenarioError(f"{who}: {error}") from error
    where = f"{who}: run {folder}"
    return _row(dict(zip(run.sources, used.tolist(), strict=True)), losses, sources, where)


def _of_table(path: Path, sources: Sources, who: str) -> list[tuple[Vector, Vector]]:
    where = f"{who}: {path}"
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:  # spreadsheets begin a file with a byte order mark
            rows = [row for row in csv.reader(lines) if row]
    except (OSError, UnicodeError, csv.Error) as error:
        raise ScenarioError(f"{where} cannot be read as CSV: {error}; write commas between cells, in UTF-8") from error
    if not rows:
        raise ScenarioError(f"{where} is empty; its first line names {COLUMNS}, each further line is a pilot")
    header = [name.strip() for name in rows[0]]
    _check_header(header, where)
    if len(rows) == 1:
        raise ScenarioError(f"{where} names columns but has no row under them; add a row for each pilot")
    return [_of_line(header, row, sources, f"{where}, row {number}") for number, row in enumerate(rows[1:], 1)]


def _check_header(header: Sequence[str], where: str) -> None:
    for prefix in (WEIGHT, LOSS):
        if not any(name.startswith(prefix) for name in header):
            raise ScenarioError(f"{where} has no column `{prefix}SOURCE`; its first line must name {COLUMNS}")
    for name in header:
        if name.startswith((WEIGHT, LOSS)) and header.count(name) > 1:
            raise ScenarioError(f"{where} names the column {name!r} twice; keep one of them")


def _of_line(header: Sequence[str], row: Sequence[str], sources: Sources, where: str) -> tuple[Vector, Vector]:
    if len(row) != len(header):
        raise ScenarioError(f"{where} has {len(row)} cells under {len(header)} columns; give one cell for each column")
    cells = list(zip(header, row, strict=True))
    used, losses = (
        {name[len(kind) :]: _number(cell, f"{where}, column {name}") for name, cell in cells if name.startswith(kind)}
        for kind in (WEIGHT, LOSS)
    )
    return _row(used, losses, sources, where)


def _number(cell: str, where: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise ScenarioError(
            f"{where}: {cell!r} is not a number; write one, or nan for a loss that was not measured"
        ) from None


def _row(used: Mapping[str, float], losses: Mapping[str, float], sources: Sources, where: str) -> tuple[Vector, Vector]:
    weights = by_source({name: amount for name, amount in used.items() if amount}, sources, f"{where}, weights")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ScenarioError(f"{where}: its weights are not finite, not negative and not all 0")
    known = np.array([losses.get(name, np.nan) for name in sources.names], np.float64)
    return weights / weights.sum(), np.where(np.isfinite(known), known, np.nan)
