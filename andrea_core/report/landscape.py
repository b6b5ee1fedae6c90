"""The landscape page: basin width, curvature and held-out loss where they were measured, with their error bars."""

from html import escape

import attrs
import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from andrea_core.report.panel import Panel
from andrea_core.report.style import f4, plain, stage_bands, styled
from andrea_core.report.summary import measured_at
from andrea_core.report.timeline import Floats, drawn_stages
from andrea_core.runs.store import Run
from andrea_core.runs.table import Table

COLOURS = {
    "heldout": "#2f4bc4",
    "loss": "#0f766e",
    "width": "#b45309",
    "width_relative": "#7c3aed",
    "largest": "#be123c",
}
ROW, BITS = 190, "bits per byte"
SIGMA = "\N{GREEK SMALL LETTER SIGMA}*"


@attrs.frozen(eq=False)
class Series:
    """A number at some steps with its error; `unit` is what the axis says."""

    name: str
    unit: str
    step: Floats
    value: Floats
    error: Floats
    colour: str


def basin_panel(run: Run) -> Panel | None:
    """Return held-out loss, basin width and curvature, drawn and as a table; None without width and curvature."""
    rows = [found for found in (_losses(run), _widths(run), _curvature(run)) if found]
    if not (_widths(run) or _curvature(run)):
        return None
    fig = make_subplots(rows=len(rows), cols=1, shared_xaxes=True, vertical_spacing=0.06)
    styled(fig, 90 + ROW * len(rows), hovermode="closest", legend={"tracegroupgap": 0})
    for index, found in enumerate(rows, start=1):
        for series in found:
            fig.add_trace(_trace(series), row=index, col=1)
        fig.update_yaxes(
            title_text=found[0].unit, rangemode="normal" if found[0].unit == BITS else "tozero", row=index, col=1
        )
    fig.update_xaxes(title_text="step", row=len(rows), col=1)
    stages = drawn_stages(run)
    stage_bands(fig, stages)
    if stages:  # room for an error bar at either end
        fig.update_xaxes(range=[-0.015 * stages[-1].until, 1.015 * stages[-1].until])
    how = (
        "How far the weights may be moved at random before the loss rises by a tolerance (width), and the largest "
        "curvature at the centre, always beside the loss: widths of models of different loss are not alike."
    )
    more = (
        "Bars are standard errors: of the held-out loss over windows of text, of a width over the random directions. A "
        "curvature's bar is the residual of its eigenvector, which bounds the error on this text, not that from other "
        "text. The probes' settings, the text they looked at among them, stand in the scenario below."
    )
    return Panel("basin", "Basin width, curvature and loss", how, more, (fig,), html=_html(run, rows))


def _trace(series: Series) -> go.Scatter:
    return go.Scatter(
        x=series.step.astype(np.int32), y=f4(series.value), name=plain(series.name), mode="lines+markers",
        line={"color": series.colour, "width": 1.6}, marker={"size": 7},
        error_y={"array": f4(np.nan_to_num(series.error)), "thickness": 1.4, "width": 5, "color": series.colour},
        customdata=f4(series.error),
        hovertemplate="%{y:.4g} ± %{customdata:.2g} at step %{x}<extra>" + plain(series.name) + "</extra>",
    )  # fmt: skip


def _losses(run: Run) -> list[Series]:
    """Return the mean held-out loss over the sources, with its standard error where the record has that of each."""
    if not run.evals.has("step", "bits_per_byte"):
        return []
    bits = run.evals["bits_per_byte"].astype(np.float64)
    errors = np.full_like(bits, np.nan)
    if run.evals.has("bits_per_byte_error") and run.evals["bits_per_byte_error"].shape == bits.shape:
        errors = run.evals["bits_per_byte_error"].astype(np.float64)
    count = np.where(np.isfinite(bits).any(1), np.isfinite(bits).sum(1), np.nan)
    known = np.isfinite(errors)
    mean = np.where(np.isfinite(bits), bits, 0).sum(1) / count
    error = np.where(known.any(1), np.sqrt(np.where(known, errors**2, 0).sum(1)) / count, np.nan)
    label = "held-out bits per byte"
    return [Series(label, BITS, _numbers(run.evals, "step"), mean, error, COLOURS["heldout"])]


def _widths(run: Run) -> list[Series]:
    said = (
        ("width", f"basin width {SIGMA}", f"width {SIGMA}"),
        ("width_relative", f"{SIGMA} at a relative tolerance", f"width {SIGMA}"),
    )
    return _of(run, "basin_width", said)


def _curvature(run: Run) -> list[Series]:
    return _of(run, "sharpness", (("largest", "largest curvature λ₁", "curvature λ₁"),))


def _of(run: Run, kind: str, said: tuple[tuple[str, str, str], ...]) -> list[Series]:
    """Return the numbers of the probes of a kind; a second one of it, as `basin_width-2`, is told apart by its name."""
    found = []
    for probe, table in run.probes.items():
        if probe != kind and not probe.startswith(f"{kind}-"):
            continue
        for array, name, unit in said:
            if table.has("step", array) and table[array].ndim == 1:
                more = "" if probe == kind else f" ({probe})"
                value = _numbers(table, array)
                found.append(
                    Series(name + more, unit, _numbers(table, "step"), value, _error(table, array), COLOURS[array])
                )
    return found


def _error(table: Table, array: str) -> Floats:
    if table.has(f"{array}_error"):
        return _numbers(table, f"{array}_error")
    if array == "largest" and table.has("residual"):
        return np.abs(_numbers(table, "residual") * _numbers(table, array))
    return np.full(table.rows, np.nan)


def _numbers(table: Table, array: str) -> Floats:
    return np.asarray(table[array], np.float64)


def _html(run: Run, rows: list[list[Series]]) -> str:
    """Return the numbers as a table: a row for each step at which a width or a curvature was measured."""
    columns = [series for found in rows for series in found]
    looked = sorted({int(step) for series in columns if series.unit != BITS for step in series.step})
    heads = "".join(f'<th class="n">{escape(series.name)}</th>' for series in columns)
    body = "".join(_row(run, columns, step) for step in looked)
    top = f'<tr><th class="n">step</th><th>measured</th>{heads}</tr>'
    return f'<div class="scroll"><table><thead>{top}</thead><tbody>{body}</tbody></table></div>'


def _row(run: Run, columns: list[Series], step: int) -> str:
    cells = "".join(f'<td class="n">{_cell(series, step)}</td>' for series in columns)
    return f'<tr><td class="n">{step:,}</td><td>{escape(measured_at(run, step))}</td>{cells}</tr>'


def _cell(series: Series, step: int) -> str:
    at = np.flatnonzero(series.step == step)
    if not len(at) or not np.isfinite(series.value[at[-1]]):
        return ""
    value, error = series.value[at[-1]], series.error[at[-1]]
    return f"{value:.4g} ± {error:.2g}" if np.isfinite(error) else f"{value:.4g}"
