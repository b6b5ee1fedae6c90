"""What the probes measured, one figure a probe: a curve a number, one a source, or one a place of an array."""

import math

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from andrea_core.report.panel import Panel
from andrea_core.report.style import f4, plain, source_colours, stage_bands, styled
from andrea_core.report.timeline import Floats, drawn_stages, every
from andrea_core.runs.frames import labels_of
from andrea_core.runs.store import Run
from andrea_core.runs.table import Table

MOST, ROWS, COLUMNS = 400, 8, 64


def probe_panels(run: Run) -> list[Panel]:
    """Return a panel a probe that measured numbers."""
    found = (_panel(run, name, table) for name, table in run.probes.items())
    return [panel for panel in found if panel is not None]


def _panel(run: Run, name: str, table: Table) -> Panel | None:
    drawn = [array for array in table if array != "step" and _drawable(table[array])]
    if not drawn or "step" not in table:
        return None
    shown, left = drawn[:ROWS], len(drawn) - ROWS
    fig = make_subplots(rows=len(shown), cols=1, shared_xaxes=True, vertical_spacing=min(0.08, 0.3 / len(shown)))
    styled(fig, 110 + 210 * len(shown), hovermode="closest")
    listed: set[str] = set()
    for row, array in enumerate(shown, start=1):
        for trace in _curves(run, table, array):
            trace.showlegend = bool(trace.name) and trace.name in run.sources and trace.name not in listed
            listed.add(trace.name or "")
            fig.add_trace(trace, row=row, col=1)
        fig.update_yaxes(title_text=plain(array), range=_about(table[array]), row=row, col=1)
    fig.update_xaxes(title_text="step", row=len(shown), col=1)
    stage_bands(fig, drawn_stages(run))
    how = "Measured at phase borders without touching training: a row of curves for each number of the probe."
    placed = any(table[array].ndim > 1 and not _by_source(run, table, array) for array in shown)
    notes = ["Curves without a name in the legend are places of an array: hover to see which."] if placed else []
    notes += [f"{left} further arrays are in the record."] if left > 0 else []
    more = " ".join(notes)
    return Panel(f"probe-{name}", f"Probe {name}", how, more, (fig,))


def _drawable(values: Floats) -> bool:
    wide = math.prod(values.shape[1:])
    return values.dtype.kind in "fiub" and 1 <= wide <= COLUMNS


def _about(values: Floats) -> list[float] | None:
    """Return an axis about a value that never changes, which plotly would show from 1 below to 1 above; else None."""
    known = values[np.isfinite(values)].astype(np.float64)
    if not known.size or known.min() < known.max() or not known.flat[0]:
        return None
    value = float(known.flat[0])
    return [value - abs(value) / 2, value + abs(value) / 2]


def _by_source(run: Run, table: Table, array: str) -> bool:
    return labels_of(table, array, math.prod(table[array].shape[1:]), run.sources) == run.sources


def _curves(run: Run, table: Table, array: str) -> list[go.Scatter]:
    shown = every(table.rows, MOST)
    x = table["step"][shown].astype(np.int32)
    values = table[array][shown].reshape(len(shown), -1)
    single = table[array].ndim == 1
    labels = [""] if single else labels_of(table, array, values.shape[1], run.sources)
    colours = ["#2f4bc4"] if single else source_colours(len(labels))
    return [
        go.Scatter(
            x=x, y=f4(values[:, k]), mode="lines+markers", marker={"size": 5}, line={"color": colours[k], "width": 1.6},
            name=plain(label), legendgroup=label,
            hovertemplate="%{y:.4g} at step %{x}<extra>" + plain(label) + "</extra>",
        )
        for k, label in enumerate(labels)
    ]  # fmt: skip
