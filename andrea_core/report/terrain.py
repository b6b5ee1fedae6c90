"""The loss over a plane through the weights, with the path of training where the plane was laid through it."""

import numpy as np
import plotly.graph_objects as go

from andrea_core.report.panel import Panel
from andrea_core.report.style import INK, colour_bar, f4, figure, plain
from andrea_core.report.summary import measured_at
from andrea_core.report.timeline import Floats
from andrea_core.runs.store import Run
from andrea_core.runs.table import Table

_LOW_TO_HIGH = [[0.0, "#163a5f"], [0.25, "#2f7f93"], [0.5, "#7fc0a5"], [0.75, "#dbe6b5"], [1.0, "#fbf7e3"]]
NEEDED = ("step", "plane", "places")


def plane_panel(run: Run) -> Panel | None:
    """Return the last plane of each `slices` probe, as contours; None where none was measured."""
    figures = []
    for probe, table in run.probes.items():
        if (probe == "slices" or probe.startswith("slices-")) and table.has(*NEEDED):
            figures.append(_plane(run, probe, table))
    if not figures:
        return None
    how = (
        "Height is the loss on fixed text at the weights moved along two directions. Dark is low; the star is the "
        "model at that step, and the line, where there is one, the path of training from its first look to there."
    )
    more = (
        "A path lies in many dimensions: the share that each axis shows stands at it, and the points are projected on "
        "the plane, so that the loss under a point is that of its shadow. Only the star is a model that was trained."
    )
    return Panel("plane", "The landscape around the weights", how, more, tuple(figures))


def _plane(run: Run, probe: str, table: Table) -> go.Figure:
    places, losses = _last(table, "places"), _last(table, "plane")
    path = _last(table, "path") if "path" in table else np.zeros((0, 2))
    path = path[np.isfinite(path).all(axis=1)]
    fig = figure(520, *_axes(table, bool(len(path))))
    known = losses[np.isfinite(losses)]
    low, high = (float(known.min()), float(np.quantile(known, 0.97))) if known.size else (0.0, 1.0)
    fig.add_trace(
        go.Contour(
            x=f4(places), y=f4(places), z=f4(losses.T), zmin=low, zmax=high, colorscale=_LOW_TO_HIGH, ncontours=24,
            line={"width": 0.6, "color": "rgba(31,39,51,.35)"},
            colorbar=colour_bar("loss, nats a token", side="right"),
            hovertemplate="loss %{z:.4g} at (%{x:.2f}, %{y:.2f})<extra></extra>",
        )
    )  # fmt: skip
    if len(path):
        fig.add_traces(_path(path))
    star = {"symbol": "star", "size": 15, "color": "#ffd43b", "line": {"width": 1.2, "color": INK}}
    fig.add_trace(go.Scatter(x=[0], y=[0], mode="markers", marker=star, name="the model", showlegend=len(path) > 0))
    fig.update_layout(
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
        meta={
            "caption": f"{plain(probe)}, {measured_at(run, int(table['step'][-1]))}, step {int(table['step'][-1]):,}"
        },
    )
    room = 0.04 * (places[-1] - places[0])  # the outermost looks lie on the border
    fig.update_xaxes(range=[places[0] - room, places[-1] + room])
    fig.update_yaxes(range=[places[0] - room, places[-1] + room])
    return fig


def _axes(table: Table, on_path: bool) -> tuple[str, str]:
    """Return what the axes say: on a path the share of it that each holds, the units of the probe elsewhere."""
    if on_path and "shares" in table:
        one, other = _last(table, "shares")
        return f"first direction ({one:.0%} of the path's extent)", f"second direction ({other:.0%})"
    return "along the first direction", "along the second direction"


def _path(path: Floats) -> list[go.Scatter]:
    dots = {"size": 7, "color": "#ffffff", "line": {"width": 1.4, "color": "#c2255c"}}
    start = {"symbol": "circle", "size": 11, "color": "#c2255c", "line": {"width": 1.2, "color": "#ffffff"}}
    walked = go.Scatter(
        x=f4(path[:, 0]), y=f4(path[:, 1]), mode="lines+markers", name="path of training, a dot a look", marker=dots,
        line={"color": "#c2255c", "width": 2}, hovertemplate="(%{x:.2f}, %{y:.2f})<extra></extra>",
    )  # fmt: skip
    first = go.Scatter(x=f4(path[:1, 0]), y=f4(path[:1, 1]), mode="markers", name="its first look", marker=start)
    return [walked, first]


def _last(table: Table, array: str) -> Floats:
    return np.asarray(table[array][-1], np.float64)
