"""Held-out loss in bits per byte: a curve a source, and each source from the first measurement to the last."""

import numpy as np
import plotly.graph_objects as go

from andrea_core.report.panel import Panel
from andrea_core.report.style import INK, MUTED, f4, faded, figure, plain, source_colours, stage_bands
from andrea_core.report.summary import measured_at, order0_of
from andrea_core.report.timeline import Floats, drawn_stages, every
from andrea_core.runs.store import Run
from andrea_core.runs.table import Array

MOST = 600


def heldout_panel(run: Run) -> Panel | None:
    """Return a held-out curve a source, with their mean; None when nothing was measured."""
    if not run.evals.has("step", "bits_per_byte"):
        return None
    shown = every(run.evals.rows, MOST)
    x, bits = run.evals["step"][shown].astype(np.int32), run.evals["bits_per_byte"].astype(np.float64)[shown]
    fig = figure(480, "step", "held-out bits per byte")
    order0 = order0_of(run)
    for k, (name, colour) in enumerate(zip(run.sources, source_colours(len(run.sources)), strict=True)):
        reference = f"<br>order-0 entropy {order0[k]:.3f}" if np.isfinite(order0[k]) else ""
        fig.add_trace(
            go.Scatter(
                x=x, y=f4(bits[:, k]), name=plain(name), mode="lines+markers", line={"color": colour, "width": 1.8},
                marker={"size": 4},
                hovertemplate="%{y:.3f} at step %{x}" + reference + "<extra>%{fullData.name}</extra>",
            )
        )  # fmt: skip
    if len(run.sources) > 1:
        fig.add_trace(_mean(x, bits))
    stage_bands(fig, drawn_stages(run))
    how = (
        "Each curve is the loss on text of one source that the model never trains on: lower is better; black is the "
        "mean."
    )
    more = (
        "Bits per byte compare across sources and tokenizers. Hover over a curve for its source's order-0 entropy: "
        "the loss of a model that knows only how often each byte occurs."
    )
    return Panel("heldout", "Held-out loss", how, more, (fig,))


def progress_panel(run: Run) -> Panel | None:
    """Return each source's first and last held-out loss beside its order-0 entropy; None without two measurements."""
    if not run.evals.has("step", "bits_per_byte") or run.evals.rows < 2:
        return None
    bits = run.evals["bits_per_byte"].astype(np.float64)
    count = len(run.sources)
    first, last = (measured_at(run, int(run.evals["step"][i])) for i in (0, -1))
    order = np.argsort(-np.nan_to_num(bits[-1], nan=-1.0), kind="stable")
    colours = source_colours(count)
    names = [plain(run.sources[k]) for k in order]
    fig = figure(max(240, 90 + 24 * count), "held-out bits per byte")
    fig.update_xaxes(rangemode="tozero")
    fig.update_yaxes(showgrid=False)
    for k, name in zip(order, names, strict=True):
        line = {"color": faded(colours[k], 0.35), "width": 5}
        pair = f4(bits[[0, -1], k])
        fig.add_trace(go.Scatter(x=pair, y=[name, name], mode="lines", line=line, hoverinfo="skip", showlegend=False))
    fig.add_trace(_row_marks(first, bits[0][order], names, {"symbol": "circle-open", "size": 9, "color": MUTED}))
    tick = {"symbol": "line-ns", "size": 13, "line": {"width": 2, "color": INK}}
    fig.add_trace(_row_marks("order-0 entropy", order0_of(run)[order], names, tick))
    dot = {"symbol": "circle", "size": 10, "color": [colours[k] for k in order]}
    fig.add_trace(_row_marks(last, bits[-1][order], names, dot))
    fig.update_layout(legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0}, hovermode="y unified")
    how = (
        "Each bar runs from the first measurement (ring) to the last (dot); a dot left of its tick, the order-0 "
        "entropy, has learned more than byte frequencies."
    )
    return Panel("progress", f"First and last measurement: {first}, {last}", how, figures=(fig,))


def _mean(x: Array, bits: Floats) -> go.Scatter:
    seen = np.isfinite(bits)
    means = np.where(seen, bits, 0).sum(axis=1) / np.where(seen.any(axis=1), seen.sum(axis=1), np.nan)
    line = {"color": INK, "width": 3}
    hover = "%{y:.3f} at step %{x}<extra>mean</extra>"
    return go.Scatter(x=x, y=f4(means), name="mean over sources", mode="lines", line=line, hovertemplate=hover)


def _row_marks(label: str, values: Floats, names: list[str], marker: dict[str, object]) -> go.Scatter:
    hover = f"{plain(label)} %{{x:.3f}}<extra></extra>"
    return go.Scatter(x=f4(values), y=names, name=plain(label), mode="markers", marker=marker, hovertemplate=hover)
