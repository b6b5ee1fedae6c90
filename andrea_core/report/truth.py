"""A simulated run against the best possible: its true loss over the steps, and its mix beside the optimal one."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from andrea_core.report.panel import Panel
from andrea_core.report.style import INK, MUTED, f4, figure, plain, source_colours, stage_bands
from andrea_core.report.summary import share
from andrea_core.report.timeline import drawn_stages, every
from andrea_core.runs.store import Run

MOST = 2000
ABOVE = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.01, "yanchor": "bottom"}
"""A legend outside the plot, where it hides neither a bar nor a line."""


def truth_panel(run: Run) -> Panel | None:
    """Return the true mean loss and the optimum, mean weights beside the optimal ones; None for a real run."""
    optimum = run.attributes.get("optimum")
    if not isinstance(optimum, Mapping) or "truth" not in run.probes or "mean" not in run.probes["truth"]:
        return None
    how = (
        "One: the true mean loss of the target sources after each phase, with the smallest that any weights inside the "
        "regions end with, and what uniform weights end with. Two: the run's mean weights beside the optimal ones."
    )
    more = (
        "The optimum minimises the mean loss at the end over one weight vector a stage. No weights inside the regions "
        f"reach less than {optimum['loss'] - optimum['gap']:.6f}: that is certain by the gap of a convex program."
    )
    return Panel("truth", "Against the truth", how, more, (_losses(run, optimum), _mixes(run, optimum)))


def _losses(run: Run, optimum: Mapping[str, Any]) -> go.Figure:
    table = run.probes["truth"]
    shown = every(table.rows, MOST)
    steps, mean = table["step"][shown].astype(np.int64), table["mean"][shown]
    fig = figure(450, "step", "mean loss of the targets, nats a token", showlegend=True)
    fig.update_layout(legend=ABOVE | {"y": 1.07}, margin={"t": 64})  # over the names of the stages
    fig.add_scatter(x=steps, y=f4(mean), mode="lines", name="this run", line={"color": INK, "width": 1.6})
    for name, dash in (("uniform", "dot"), ("loss", "dash")):
        label = "optimum at the end" if name == "loss" else "uniform weights at the end"
        level = [optimum[name]] * 2
        fig.add_scatter(
            x=[0, int(steps[-1])], y=level, mode="lines", name=label, line={"color": MUTED, "width": 1.4, "dash": dash}
        )
    fig.update_yaxes(type="log")
    stage_bands(fig, drawn_stages(run))
    return fig


def _mixes(run: Run, optimum: Mapping[str, Any]) -> go.Figure:
    spans = np.array(optimum["steps"], np.float64)
    best = spans @ np.array(optimum["weights"], np.float64) / spans.sum()
    names = [plain(name) for name in run.sources]
    fig = figure(430, "", "mean weight over the run", barmode="group")
    fig.update_layout(legend=ABOVE)
    colours = source_colours(len(names))
    fig.add_bar(x=names, y=f4(share(run, "weights")), name="this run", marker={"color": colours})
    hatched = {"color": "white", "line": {"color": INK, "width": 1.2}}
    fig.add_bar(x=names, y=f4(best), name="optimum", marker=hatched)
    return fig
