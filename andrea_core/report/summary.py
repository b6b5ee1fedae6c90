"""The run in one row a source: what was asked, drawn and trained, and held-out bits per byte from start to end."""

from collections.abc import Mapping

import attrs
import numpy as np

from andrea_core.report.timeline import Floats, planned_stages
from andrea_core.runs.store import Run

START, END = "start", "end"
LEDGER = ("requested", "weights", "drawn", "trained")


@attrs.frozen
class SummaryRow:
    """One source's account; shares sum to 1 over the sources, NaN where nothing was recorded.

    `requested` and `landed` are means over the steps. `bits` maps "start", "after STAGE", ... and "end" to held-out
    bits per byte, in that order, the same keys in every row; the last stage is "end" when the run reached its end.
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
        values = values * run.phases["steps"][:, None]
    totals = values[keep].sum(axis=0)
    return totals / totals.sum() if totals.sum() > 0 else np.full(len(run.sources), np.nan)


def bits_columns(run: Run) -> dict[str, Floats]:
    """Return held-out bits per byte (K,) at "start", "after STAGE" for each planned stage, and "end".

    NaN where a stage's end was not reached or measured. The last measurement is "end" only once; a stage that it closes
    has no column of its own.
    """
    if not run.evals.has("step", "bits_per_byte"):
        return {}
    steps, bits = run.evals["step"], run.evals["bits_per_byte"].astype(np.float64)
    nothing = np.full(len(run.sources), np.nan)
    at = {int(step): row for step, row in zip(steps, bits, strict=True)}
    last = int(steps[-1])
    columns = {START: at.get(0, nothing)}
    for stage in planned_stages(run):
        if stage.until != last:
            columns[_fresh(f"after {stage.name}", columns)] = at.get(stage.until, nothing)
    return columns | {END: at[last]}


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
