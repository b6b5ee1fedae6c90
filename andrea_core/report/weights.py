"""Weights over time as stacked areas, and how near the walk comes to the corners: parking."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from andrea_core.report.panel import Panel
from andrea_core.report.style import INK, f4, faded, figure, plain, source_colours, stage_bands, styled
from andrea_core.report.timeline import Floats, binned, drawn_stages, every, phase_ends, stage_names
from andrea_core.runs.store import Run
from andrea_core.runs.table import Array

MOST = 1200
_TICKS = [1, 2, 3, 5, 8, 12, 16, 24, 32, 48, 64, 96, 128]


def weights_panel(run: Run) -> Panel | None:
    """Return the landed weights as stacked areas over the steps; None without phases."""
    if not run.phases.has("weights", "start", "steps"):
        return None
    weights = run.phases["weights"].astype(np.float64)
    means, first = binned(weights, run.phases["steps"].astype(np.float64), MOST)
    x = np.append(run.phases["start"][first], phase_ends(run)[-1]).astype(np.int32)
    stacked = f4(np.concatenate([means, means[-1:]]))
    fig = figure(460, "step", "weight", hovermode="closest")
    fig.update_yaxes(range=[0, 1])
    seam = 0.4 if len(means) < 250 else 0  # thinner columns would drown in their seams
    for k, (name, colour) in enumerate(zip(run.sources, source_colours(len(run.sources)), strict=True)):
        fig.add_trace(
            go.Scatter(
                x=x, y=stacked[:, k], name=plain(name), stackgroup="weights", mode="lines",
                line={"width": seam, "color": "white", "shape": "hv"}, fillcolor=colour,
                hovertemplate="%{y:.4f} at step %{x}<extra>%{fullData.name}</extra>",
            )
        )  # fmt: skip
    stage_bands(fig, drawn_stages(run))
    merged = len(means) < len(weights)
    how = (
        "The height of a colour is that source's weight in the phase, the whole height is 1; dotted lines are stage "
        "borders."
    )
    more = f"{len(weights)} phases are averaged, by steps, into {len(means)} columns." if merged else ""
    return Panel("weights", "Weights", how, more, (fig,))


def parking_panel(run: Run) -> Panel | None:
    """Return the effective number of sources and the distance to the nearest pure source, a point a phase."""
    if not run.phases.has("weights", "start") or len(run.sources) < 2:
        return None
    shown = every(run.phases.rows, 2 * MOST)
    weights, x = run.phases["weights"].astype(np.float64)[shown], run.phases["start"][shown].astype(np.int32)
    end = int(phase_ends(run)[-1]) if len(phase_ends(run)) else int(x[-1])
    fig = styled(make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.07), 460, showlegend=False)
    for row, values in enumerate((effective_number(weights), corner_distance(weights)), start=1):
        if len(x) < 400:
            fig.add_trace(_steps(x, values, end, {"color": faded(INK, 0.25), "width": 1}), row=row, col=1)
        fig.add_trace(_dots(run, weights, x, values), row=row, col=1)
    if "upper" in run.phases:
        count = (run.phases["upper"][shown] > 0).sum(axis=1).astype(np.float64)
        look = {"color": faded(INK, 0.55), "width": 1.2, "dash": "dash"}
        fig.add_trace(_steps(x, count, end, look, "%{y:.0f} sources open<extra></extra>"), row=1, col=1)
    fig.update_yaxes(title_text="effective number", type="log", tickvals=_TICKS, row=1, col=1)
    fig.update_yaxes(title_text="distance", rangemode="tozero", row=2, col=1)
    fig.update_xaxes(title_text="step", row=2, col=1)
    stage_bands(fig, drawn_stages(run))
    how = (
        "Each dot is a phase's start in the colour of its heaviest source, and the value holds until the next dot: a "
        "row of one colour near the bottom is a walk that has parked at a pure source."
    )
    more = (
        "Above: exp(entropy) of the weights, how many sources the phase is worth; 1 is a pure source, the dashed line "
        "counts the sources that the region leaves open. Below: the Euclidean distance to the nearest pure source."
    )
    return Panel("parking", "Parking: how near the walk is to a pure source", how, more, (fig,))


def effective_number(weights: Floats) -> Floats:
    """exp(entropy) of each row of weights (n, K): 1 for a pure source, K for equal weights."""
    logs = np.log(np.where(weights > 0, weights, 1.0))
    return np.asarray(np.exp(-(weights * logs).sum(axis=1)))


def corner_distance(weights: Floats) -> Floats:
    """(n,) Euclidean distance of each row of weights to the nearest vertex e_k of the simplex."""
    squared = (weights**2).sum(axis=1) - 2 * weights.max(axis=1) + 1
    return np.asarray(np.sqrt(np.maximum(squared, 0)))


def _dots(run: Run, weights: Floats, x: Array, values: Floats) -> go.Scatter:
    heaviest = weights.argmax(axis=1)
    colours = source_colours(len(run.sources))
    stages = stage_names(run)
    return go.Scatter(
        x=x, y=f4(values), mode="markers",
        marker={"size": 6 if len(x) < 400 else 4, "color": [colours[k] for k in heaviest]},
        text=[plain(run.sources[k]) for k in heaviest],
        hovertemplate="%{y:.3f} at step %{x}, heaviest %{text}<extra></extra>" if stages else None,
    )  # fmt: skip


def _steps(x: Array, values: Floats, end: int, line: dict[str, object], hover: str | None = None) -> go.Scatter:
    """Draw values that hold from a phase's start to its end, the last of them to the record's last step."""
    held = np.append(values, values[-1])
    return go.Scatter(
        x=np.append(x, end).astype(np.int32), y=f4(held), mode="lines", line={**line, "shape": "hv"},
        hoverinfo=None if hover else "skip", hovertemplate=hover,
    )  # fmt: skip
