"""The ledger: what was requested, landed, drawn and trained of each source, over the run and by stage; epochs."""

import numpy as np
import plotly.graph_objects as go

from andrea_core.report.panel import Panel
from andrea_core.report.style import INK, choices, f4, faded, figure, plain, source_colours, stage_bands
from andrea_core.report.summary import LEDGER, share
from andrea_core.report.timeline import drawn_stages, every, phase_ends, stage_names
from andrea_core.runs.store import Run

MOST = 800
_COLOURS = {"requested": "#c3cbe0", "weights": "#7f93d1", "drawn": "#3e5ac1", "trained": "#1b2a66"}
_LABELS = {"requested": "requested", "weights": "landed", "drawn": "rows drawn", "trained": "tokens trained"}


def ledger_panel(run: Run) -> Panel | None:
    """Return shares by source of the four ledger columns, over the run and by stage; None when none was recorded."""
    present = [name for name in LEDGER if name in run.phases]
    if not present:
        return None
    scopes: dict[str, str | None] = {"whole run": None} | {
        f"stage {name}": name for name in dict.fromkeys(stage_names(run))
    }
    fig = figure(430, "", "share", barmode="group", bargap=0.25, bargroupgap=0.04)
    fig.update_yaxes(tickformat=".0%")
    fig.update_xaxes(showgrid=False)
    owner = [scope for scope in scopes for _ in present]
    for scope, stage in scopes.items():
        for name in present:
            trace = _bars(run, name, stage)
            trace.visible = scope == "whole run"
            fig.add_trace(trace)
    shown = [[scope == o for o in owner] for scope in scopes]
    fig.update_layout(
        updatemenus=[choices(list(scopes), shown)],
        legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"},
        margin={"t": 60},
    )
    how = (
        "Four bars a source along the data's way: what the policy asked, where that landed inside the region, the "
        "rows drawn, the tokens trained; the drop-down chooses a stage."
    )
    more = (
        "Requested and landed differ where a bound held the policy back; the last three agree up to the rounding of "
        "rows and the length of documents. Weights are averaged over steps."
    )
    return Panel("ledger", "The ledger: requested, landed, drawn, trained", how, more, (fig,))


def epochs_panel(run: Run) -> Panel | None:
    """Return how often each source's own text was passed, over the steps; None when it was not recorded."""
    if not run.phases.has("epochs", "start", "steps"):
        return None
    shown = every(run.phases.rows, MOST)
    x = np.append(0, phase_ends(run)[shown]).astype(np.int32)
    epochs = np.concatenate([np.zeros((1, len(run.sources))), run.phases["epochs"][shown]])
    fig = figure(460, "step", "epochs", hovermode="closest")
    for k, (name, colour) in enumerate(zip(run.sources, source_colours(len(run.sources)), strict=True)):
        line = {"color": colour, "width": 1.8}
        hover = "%{y:.3f} epochs at step %{x}<extra>%{fullData.name}</extra>"
        y = f4(epochs[:, k])
        fig.add_trace(go.Scatter(x=x, y=y, name=plain(name), mode="lines", line=line, hovertemplate=hover))
    fig.add_hline(y=1, line={"color": faded(INK, 0.5), "dash": "dash", "width": 1})
    stage_bands(fig, drawn_stages(run))
    how = (
        "How many times training has passed over each source's own text: above the dashed line, one epoch, documents "
        "repeat."
    )
    more = "A steep line of a small source is where memorising begins; a flat line is a source at rest."
    return Panel("epochs", "Epochs", how, more, (fig,))


def _bars(run: Run, name: str, stage: str | None) -> go.Bar:
    label = _LABELS[name]
    return go.Bar(
        x=[plain(source) for source in run.sources], y=f4(share(run, name, stage)), name=label,
        marker={"color": _COLOURS[name]}, hovertemplate="%{x}: %{y:.2%}<extra>" + label + "</extra>",
    )  # fmt: skip
