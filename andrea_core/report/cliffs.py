"""The training loss of each source's rows over the steps, with the events that a probe told of a source at a step."""

import attrs
import numpy as np
import plotly.graph_objects as go

from andrea_core.report.panel import Panel
from andrea_core.report.style import INK, PAPER, f4, figure, plain, source_colours, stage_bands
from andrea_core.report.timeline import Floats, drawn_stages
from andrea_core.runs.store import Run
from andrea_core.runs.table import Table

BINS = 150
NEEDED = ("step", "at", "source", "verdict", "after")
SYMBOLS = {"memorised_gully": "triangle-down", "data_change": "diamond", "learned": "circle"}


@attrs.frozen
class Told:
    """An event: the step `at` which it began, whose it is, the loss of its rows, and after which step it was told."""

    at: int
    source: str
    verdict: str
    loss: float
    told: int


def cliffs_panel(run: Run) -> Panel | None:
    """Return a curve of training loss a source with the events marked; None unless a probe watches for such events."""
    tables = [table for table in run.probes.values() if table.has(*NEEDED)]
    if not tables or not run.steps.has("row_loss", "row_source"):
        return None
    fig = figure(460, "step", "training loss, nats a token")
    width = max(1, -(-run.steps.rows // BINS))
    x, losses = _binned(run, width)
    for k, (name, colour) in enumerate(zip(run.sources, source_colours(len(run.sources)), strict=True)):
        shown = np.isfinite(losses[:, k])
        fig.add_trace(
            go.Scatter(
                x=x[shown], y=f4(losses[shown, k]), name=plain(name), mode="lines",
                line={"color": colour, "width": 1.4},
                hovertemplate="%{y:.2f} at step %{x}<extra>%{fullData.name}</extra>",
            )
        )  # fmt: skip
    told = [event for table in tables for event in _events(table)]
    for verdict in sorted({event.verdict for event in told}):
        fig.add_trace(_marks(verdict, [event for event in told if event.verdict == verdict], run.sources))
    stage_bands(fig, drawn_stages(run))
    how = f"The rows of each source apart, averaged over {width} steps: another mix does not move a curve."
    more = "A mark stands where an event began, at the loss of its rows; it was told at the end of a phase. " + (
        "No event was told." if not told else f"Events told: {len(told)}."
    )
    return Panel("cliffs", "Training loss of each source, and its events", how, more, (fig,))


def _binned(run: Run, width: int) -> tuple[Floats, Floats]:
    """Return the middle step (b,) of each bin and the mean loss (b, K) of each source's rows in it, NaN without any."""
    count, steps = len(run.sources), run.steps.rows
    source = run.steps["row_source"][:steps].astype(np.int64)
    loss = run.steps["row_loss"][:steps].astype(np.float64) / _context(run)
    where = (np.arange(steps)[:, None] // width * count + source).ravel()
    bins = -(-steps // width)
    finite = np.isfinite(loss.ravel())
    rows = np.bincount(where[finite], minlength=bins * count)
    summed = np.bincount(where[finite], loss.ravel()[finite], minlength=bins * count)
    mean = np.where(rows > 0, summed / np.maximum(rows, 1), np.nan).reshape(bins, count)
    return np.minimum(np.arange(bins) * width + (width + 1) / 2, steps), mean


def _context(run: Run) -> float:
    tokens = run.attributes.get("context")
    return float(tokens) if isinstance(tokens, (int, float)) else 1.0


def _events(table: Table) -> list[Told]:
    rows = zip(*(table[name] for name in NEEDED), strict=True)
    return [
        Told(int(at), str(source), str(verdict), float(after), int(step))
        for step, at, source, verdict, after in rows
        if str(verdict) and np.isfinite(at)
    ]


def _marks(verdict: str, told: list[Told], sources: list[str]) -> go.Scatter:
    colours = dict(zip(sources, source_colours(len(sources)), strict=True))
    words = [
        f"{plain(event.source) or 'all sources'}: {plain(verdict)}<br>step {event.at}, told after step {event.told}"
        for event in told
    ]
    return go.Scatter(
        x=[event.at for event in told], y=f4([event.loss for event in told]), mode="markers", name=plain(verdict),
        marker={
            "symbol": SYMBOLS.get(verdict, "x"), "size": 12, "line": {"color": INK, "width": 1.5},
            "color": [colours.get(event.source, PAPER) for event in told],
        },
        text=words, hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip
