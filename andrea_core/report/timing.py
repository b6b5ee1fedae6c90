"""Where the time of a run went: data, model, policy, recording and probes, in all and step by step."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from andrea_core.report.panel import Panel
from andrea_core.report.style import f4, plain, stage_bands, styled
from andrea_core.report.timeline import binned, drawn_stages
from andrea_core.runs.store import Run

MOST = 400
_COLOURS = ("#128d8f", "#4965c9", "#ffae3c", "#a9397e", "#a6621c", "#667085", "#024a62")


def timing_panel(run: Run) -> Panel | None:
    """Return the seconds by kind of work, in all (a bar) and a step (areas); None when they were not recorded."""
    if not run.phases.has("seconds", "steps", "start"):
        return None
    seconds, steps = run.phases["seconds"].astype(np.float64), run.phases["steps"].astype(np.float64)
    names = part_names(run)
    totals = np.nansum(seconds, axis=0)
    fig = make_subplots(rows=2, cols=1, row_heights=[0.22, 0.78], vertical_spacing=0.2)
    styled(fig, 400, barmode="stack")
    means, first = binned(1000 * seconds / np.maximum(steps, 1)[:, None], steps, MOST)
    x = run.phases["start"][first].astype(np.int32)
    for k, name in enumerate(names):
        colour = _COLOURS[k % len(_COLOURS)]
        for row, trace in enumerate((_bar(name, totals, k), _area(name, x, f4(means[:, k]))), start=1):
            trace.update(legendgroup=name, showlegend=row == 1)
            trace.update(marker={"color": colour} if row == 1 else None)
            if row == 2:
                trace.update(line={"width": 0.5, "color": colour}, fillcolor=colour)
            fig.add_trace(trace, row=row, col=1)
    fig.update_xaxes(title_text="seconds", row=1, col=1)
    fig.update_yaxes(showticklabels=False, row=1, col=1)
    fig.update_xaxes(title_text="step", row=2, col=1)
    fig.update_yaxes(title_text="milliseconds a step", row=2, col=1)
    _bands_below(fig, run)
    how = "The bar adds up the wall time of all phases by kind of work; the areas below show the same for one step."
    more = "Only the model's part trains: the others are what the data, the curriculum, its record and the probes cost."
    return Panel("timing", "Where time goes", how, more, (fig,))


def part_names(run: Run) -> list[str]:
    """Return the names of the columns of `phases/seconds`."""
    count = run.phases["seconds"].shape[1]
    return [*run.phases.names("seconds"), *(f"part {i}" for i in range(count))][:count]


def _bar(name: str, totals: np.ndarray, k: int) -> go.Bar:
    share = totals[k] / totals.sum() if totals.sum() > 0 else 0.0
    text = f"{share:.1%}" if share > 0.04 else ""
    hover = f"{plain(name)}: %{{x:.1f}} s, {share:.2%}<extra></extra>"
    inside = {"text": [text], "textposition": "inside", "insidetextanchor": "middle", "textangle": 0}
    return go.Bar(x=[float(totals[k])], y=["all"], orientation="h", name=plain(name), hovertemplate=hover, **inside)


def _area(name: str, x: np.ndarray, y: np.ndarray) -> go.Scatter:
    hover = "%{y:.2f} ms at step %{x}<extra>" + plain(name) + "</extra>"
    return go.Scatter(x=x, y=y, name=plain(name), stackgroup="seconds", mode="lines", hovertemplate=hover)


def _bands_below(fig: go.Figure, run: Run) -> None:
    """Draw the stage borders in the lower figure only: the upper one's axis is seconds."""
    before = len(fig.layout.shapes), len(fig.layout.annotations)
    stage_bands(fig, drawn_stages(run), labelled=False)
    for shape in fig.layout.shapes[before[0] :]:
        shape.update(xref="x2", yref="y2 domain")
