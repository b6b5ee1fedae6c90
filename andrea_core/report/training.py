"""The optimiser's side of a run: training loss, learning rate and gradient norm over the steps."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from andrea_core.report.panel import Panel
from andrea_core.report.style import INK, MUTED, f4, faded, stage_bands, styled
from andrea_core.report.timeline import Floats, drawn_stages, envelope, every, running_mean
from andrea_core.runs.store import Run

MOST = 4000
_ROWS = (
    ("loss", "loss, nats a token", "linear"),
    ("lr", "learning rate", "linear"),
    ("grad_norm", "gradient norm", "log"),
)


def training_panel(run: Run) -> Panel | None:
    """Return loss, learning rate and gradient norm as three figures over one axis; None before the first step."""
    present = [row for row in _ROWS if row[0] in run.steps]
    if not present:
        return None
    heights = [2.0 if name == "loss" else 1.0 for name, _, _ in present]
    fig = make_subplots(rows=len(present), cols=1, shared_xaxes=True, vertical_spacing=0.045, row_heights=heights)
    styled(fig, 160 + 130 * len(present) + 120, showlegend=False)
    window = max(5, run.steps.rows // 100)
    for i, (name, title, scale) in enumerate(present, start=1):
        for trace in _curves(run.steps[name].astype(np.float64), window, smooth=name != "lr"):
            fig.add_trace(trace, row=i, col=1)
        fig.update_yaxes(title_text=title, type=scale, row=i, col=1)
        if scale == "log":
            fig.update_yaxes(dtick="D2", row=i, col=1)  # labels at 1, 2 and 5 of each decade
    fig.update_xaxes(title_text="step", row=len(present), col=1)
    stage_bands(fig, drawn_stages(run))
    how = (
        f"Pale is every step, dark the mean over the last {window} steps; the gradient norm is on a logarithmic scale."
    )
    thinned = " Of every stretch of steps only the extremes are drawn." if run.steps.rows > MOST else ""
    more = (
        "The loss is that of the mix in force: it moves when the weights move, which held-out curves do not. The "
        f"gradient norm is measured before clipping.{thinned}"
    )
    return Panel("training", "Loss, learning rate, gradient norm", how, more, (fig,))


def _curves(values: Floats, window: int, smooth: bool) -> list[go.Scatter]:
    kept = envelope(values, MOST)
    line = {"color": faded(MUTED, 0.45) if smooth else INK, "width": 0.8 if smooth else 1.8}
    raw = go.Scatter(
        x=(kept + 1).astype(np.int32), y=f4(values[kept]), mode="lines", line=line,
        hoverinfo="skip" if smooth else None, hovertemplate=None if smooth else "%{y:.3g} at step %{x}<extra></extra>",
    )  # fmt: skip
    if not smooth:
        return [raw]
    spots = every(len(values), MOST // 2)
    mean = f4(running_mean(values, window)[spots])
    hover = "%{y:.4g} (running mean) at step %{x}<extra></extra>"
    x = (spots + 1).astype(np.int32)
    return [raw, go.Scatter(x=x, y=mean, mode="lines", line={"color": "#2f4bc4", "width": 2}, hovertemplate=hover)]
