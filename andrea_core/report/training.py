"""The optimiser's side of a run: training loss, learning rate and gradient norm over the steps."""

import math
from typing import Any

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
            fig.update_yaxes(**log_ticks(run.steps[name].astype(np.float64)), row=i, col=1)
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


def log_ticks(values: Floats) -> dict[str, list[Any]]:
    """Return ticks and range for a logarithmic axis, with full numbers: powers of ten, 2 and 5 between where few fit.

    The axis runs from the last tick below the values to the first above them, so that it shows at least two.
    """
    seen = values[np.isfinite(values) & (values > 0)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (1.0, 1.0)
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    digits = (1, 2, 5) if len(decades) <= 6 else (1,)
    ticks = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
    first = max(i for i, tick in enumerate(ticks) if tick <= low)
    last = min(i for i, tick in enumerate(ticks) if tick >= high)
    shown = ticks[first - (first == last) : last + 1 + (first == last)]
    ends = [math.log10(shown[0]), math.log10(shown[-1])]
    return {"tickvals": shown, "ticktext": [_full(tick) for tick in shown], "range": ends}


def _full(tick: float) -> str:
    return f"{tick:,.6f}".rstrip("0").rstrip(".") if tick >= 1e-6 else f"{tick:.0e}"


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
