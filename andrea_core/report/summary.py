"""The run in one row a source: what was asked, drawn and trained, and held-out bits per byte from start to end."""

from collections.abc import Mapping

import attrs
import numpy as np

from andrea_core.report.timeline import Floats, last_step, planned_stages
from andrea_core.runs.store import Run

START, END = "start", "end"
LEDGER = ("requested", "weights", "drawn", "trained")


@attrs.frozen
class SummaryRow:
    """One source's account; shares sum to 1 over the sources, NaN where nothing was recorded.

    `requested` and `landed` are means over the steps. `bits` maps "start", "after STAGE", ... and "end" (or
    "step N") to held-out bits per byte, in that order, the same keys in every row; see `bits_columns`.
    """

    source: str
    requested: float
    landed: float
    drawn: float
    trained: float
    epochs: float
    order0: float
    bits: Mapping[str, float]


def summary_rows(run: Run) -> list[SummaryRow]:
    """Return one row a source, in the scenario's order."""
    requested, landed, drawn, trained = (share(run, name) for name in LEDGER)
    epochs, order0 = _last(run.phases["epochs"]), order0_of(run)
    columns = bits_columns(run)
    return [
        SummaryRow(
            source=source,
            requested=float(requested[k]),
            landed=float(landed[k]),
            drawn=float(drawn[k]),
            trained=float(trained[k]),
            epochs=float(epochs[k]),
            order0=float(order0[k]),
            bits={label: float(values[k]) for label, values in columns.items()},
        )
        for k, source in enumerate(run.sources)
    ]


def share(run: Run, name: str, stage: str | None = None) -> Floats:
    """(K,) each source's share of a ledger array, over the run or one stage.

    Weights are averaged over steps; drawn rows and trained tokens are counted. NaN where nothing was recorded.
    """
    values = run.phases[name].astype(np.float64)
    keep = np.ones(len(values), bool)
    if stage is not None and "stage" in run.phases:
        keep = np.array([found == stage for found in run.phases.decoded("stage")], bool)[: len(values)]
    if name in ("requested", "weights") and "steps" in run.phases:
        values = values * run.phases["steps"][: len(values), None]
    totals = values[keep].sum(axis=0)
    return totals / totals.sum() if totals.sum() > 0 else np.full(len(run.sources), np.nan)


def bits_columns(run: Run) -> dict[str, Floats]:
    """Return held-out bits per byte (K,) at the start, at each stage's end and at the last measurement, where measured.

    The labels are those of `measured_at`. Two stretches of one stage are told apart by a number.
    """
    if not run.evals.has("step", "bits_per_byte"):
        return {}
    bits = run.evals["bits_per_byte"].astype(np.float64)
    at = {int(step): row for step, row in zip(run.evals["step"], bits, strict=True)}
    wanted = {0, *(stage.until for stage in planned_stages(run)), max(at)}
    columns: dict[str, Floats] = {}
    for step in sorted(wanted & at.keys()):
        columns[_fresh(measured_at(run, step), columns)] = at[step]
    return columns


def measured_at(run: Run, step: int) -> str:
    """Return what a measurement after `step` steps is called.

    "start" before the first step, "end" after the last step of the run (the planned one, or the last trained where it
    stopped before), "after STAGE" where a stage ends, "step N" anywhere else.
    """
    if step == 0:
        return START
    if step == last_step(run):
        return END
    ending = (f"after {stage.name}" for stage in planned_stages(run) if stage.until == step)
    return next(ending, f"step {step}")


def mean_bits(rows: list[SummaryRow]) -> dict[str, float]:
    """Return the mean over sources of each column of `bits`, of those that were measured."""
    labels = list(rows[0].bits) if rows else []
    values = {label: [row.bits[label] for row in rows if np.isfinite(row.bits[label])] for label in labels}
    return {label: float(np.mean(found)) if found else float("nan") for label, found in values.items()}


def order0_of(run: Run) -> Floats:
    """(K,) order-0 entropy of each source in bits per byte, NaN where the record has none."""
    found = run.attributes.get("order0")
    values = [float(v) if v is not None else np.nan for v in found] if isinstance(found, list) else []
    return np.array((values + [np.nan] * len(run.sources))[: len(run.sources)])


def _fresh(label: str, taken: Mapping[str, object]) -> str:
    return next(name for name in (label, *(f"{label} ({i})" for i in range(2, 1000))) if name not in taken)


def _last(values: Floats) -> Floats:
    return values[-1] if len(values) else np.full(values.shape[1], np.nan)
