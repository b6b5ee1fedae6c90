"""Attention, head by head: the weights on a text, and how far the heads of a layer look the same way."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from andrea_core.report.panel import Panel
from andrea_core.report.style import MUTED, colour_bar, f4, styled
from andrea_core.report.summary import measured_at
from andrea_core.report.timeline import Floats
from andrea_core.runs.store import Run
from andrea_core.runs.table import Table

MOST = 12
"""Layers and heads that are drawn: the first ones."""
_BLUES = [[0.0, "#ffffff"], [0.2, "#cfe0f5"], [0.5, "#6f9fd8"], [1.0, "#12336b"]]
WEIGHTS = (
    "Each square is one head: a row is a token of the text, and how dark a column is says how much of its attention "
    "lies on that token, itself or one before. H is the entropy, 1 where it looks everywhere alike."
)
OVERLAP = (
    "How far two heads of a layer look the same way: the mean squared cosine of the angles between their subspaces, 1 "
    "for the same one, 0 for orthogonal ones"
)


def maps_panel(run: Run) -> Panel | None:
    """Return the last attention weights of every layer and head; None where none were measured."""
    table = _table(run, "weights", 5)
    if table is None:
        return None
    weights = np.asarray(table["weights"][-1][:MOST, :MOST], np.float64)
    layers, heads, shown = weights.shape[:3]
    entropy = _entropy(table, layers, heads)
    names = [f"{layer + 1}.{head + 1}{entropy[layer][head]}" for layer in range(layers) for head in range(heads)]
    fig = make_subplots(layers, heads, subplot_titles=names, horizontal_spacing=0.02, vertical_spacing=0.14 / layers)
    styled(fig, 100 + 190 * layers, hovermode="closest")
    for layer in range(layers):
        for head in range(heads):
            fig.add_trace(_map(weights[layer, head], "%{y}. looks at %{x}.: %{z:.2f}"), row=layer + 1, col=head + 1)
    _quiet(fig)
    fig.update_xaxes(title_text=f"keys, tokens 1 to {shown}", row=layers)
    fig.update_yaxes(title_text="queries", col=1)
    fig.update_layout(coloraxis=_colours("weight"))
    more = f"Titles are layer.head, counted from 1. {_at(run, table)}. The text is the probe's `prompt`."
    return Panel("heads", "Attention maps", WEIGHTS, more, (fig,))


def overlap_panel(run: Run) -> Panel | None:
    """Return the last overlaps of the heads' query and key subspaces; None where none were measured."""
    table = _table(run, "query_overlap", 4)
    if table is None or not table.has("key_overlap"):
        return None
    pair = [np.asarray(table[name][-1][:MOST, :MOST, :MOST], np.float64) for name in ("query_overlap", "key_overlap")]
    layers, heads = pair[0].shape[:2]
    names = [f"layer {layer + 1}, {side}" for side in ("queries", "keys") for layer in range(layers)]
    fig = make_subplots(2, layers, subplot_titles=names, horizontal_spacing=0.03, vertical_spacing=0.16)
    styled(fig, 620, hovermode="closest")
    for row, overlaps in enumerate(pair, start=1):
        for layer in range(layers):
            drawn = _map(overlaps[layer], "heads %{y} and %{x}: %{z:.3f}")
            drawn.update(texttemplate="%{z:.2f}" if heads * layers <= 24 else None, textfont={"size": 11})
            fig.add_trace(drawn, row=row, col=layer + 1)
    _quiet(fig)
    fig.update_xaxes(tickmode="array", tickvals=list(range(1, heads + 1)), showticklabels=True)
    fig.update_yaxes(tickmode="array", tickvals=list(range(1, heads + 1)), showticklabels=True)
    fig.update_xaxes(title_text="head", row=2)
    fig.update_yaxes(title_text="head", col=1)
    fig.update_layout(coloraxis=_colours("overlap"))
    chance = f", {float(table['random_overlap'][-1]):.3f} for two random ones." if table.has("random_overlap") else "."
    return Panel("overlap", "How far heads overlap", OVERLAP + chance, f"{_at(run, table)}.", (fig,))


def _table(run: Run, array: str, axes: int) -> Table | None:
    table = run.probes.get("attention")
    if table is None or not table.has("step", array) or table[array].ndim != axes:
        return None
    return table


def _entropy(table: Table, layers: int, heads: int) -> list[list[str]]:
    if not table.has("entropy"):
        return [[""] * heads] * layers
    return [[f"  H {value:.2f}" for value in row] for row in np.asarray(table["entropy"][-1])[:layers, :heads]]


def _map(values: Floats, says: str) -> go.Heatmap:
    count = list(range(1, len(values) + 1))
    return go.Heatmap(x=count, y=count, z=f4(values), coloraxis="coloraxis", hovertemplate=says + "<extra></extra>")


def _quiet(fig: go.Figure) -> None:
    """Leave squares and titles: no grid, no ticks, the first row on top."""
    fig.update_xaxes(showgrid=False, showticklabels=False, title_standoff=4, constrain="domain")
    fig.update_yaxes(showgrid=False, showticklabels=False, title_standoff=4, autorange="reversed")
    fig.update_annotations(font={"size": 12, "color": MUTED})
    fig.update_layout(margin={"t": 66})  # the buttons of the figure stand above its titles


def _colours(title: str) -> dict[str, object]:
    return {"colorscale": _BLUES, "cmin": 0, "cmax": 1, "colorbar": colour_bar(title)}


def _at(run: Run, table: Table) -> str:
    step = int(table["step"][-1])
    return f"Measured {measured_at(run, step)}, step {step:,}"
