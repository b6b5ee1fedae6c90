"""Where the time of a run went: data, model, policy, recording and probes, in all and over the steps."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from andrea_core.report.panel import Panel
from andrea_core.report.style import f4, plain, stage_bands, styled
from andrea_core.report.timeline import Floats, Indices, binned, drawn_stages, phase_ends
from andrea_core.runs.store import Run

MOST = 400
PROBES = "probes"
_COLOURS = ("#128d8f", "#4965c9", "#ffae3c", "#a9397e", "#a6621c", "#667085", "#024a62")


def timing_panel(run: Run) -> Panel | None:
    """Return the seconds by kind of work, in all (a bar), a step (areas), and the probes' a phase (bars); or None.

    Probes work at borders of phases, not in each step: their time is no part of the areas.
    """
    if not run.phases.has("seconds", "steps", "start"):
        return None
    seconds, names = run.phases["seconds"].astype(np.float64), part_names(run)
    kinds = {name: (k, _COLOURS[k % len(_COLOURS)]) for k, name in enumerate(names)}
    probed = PROBES in kinds
    fig = make_subplots(
        rows=2 + probed, cols=1, row_heights=[0.16, 0.56, 0.28][: 2 + probed], vertical_spacing=0.6 / (4 + 2 * probed)
    )
    styled(fig, 400 + 140 * probed, barmode="stack")
    for name, (k, colour) in kinds.items():
        fig.add_trace(_bar(name, np.nansum(seconds, axis=0), k, colour), row=1, col=1)
    _add_areas(fig, run, seconds, {name: kind for name, kind in kinds.items() if name != PROBES})
    if probed:
        k, colour = kinds[PROBES]
        fig.add_trace(_phase_bars(run, seconds[:, k], colour), row=3, col=1)
        fig.update_yaxes(title_text="probes, s a phase", rangemode="tozero", row=3, col=1)
    _dress(fig, run, 2 + probed)
    how = (
        "The bar adds up the wall time of all phases by kind of work; the areas show it for one step of each phase"
        + (", and the lowest figure what the probes took at the end of each phase." if probed else ".")
    )
    more = "Only the model's part trains: the others are what the data, the curriculum, its record and the probes cost."
    if probed:
        more += " What the probes took before the first step is counted in the first phase."
    if run.phases.rows > MOST:
        more += (
            f" The areas average phases into at most {MOST} columns; of the probes' times the {MOST} longest are drawn."
        )
    return Panel("timing", "Where time goes", how, more, (fig,))


def part_names(run: Run) -> list[str]:
    """Return the names of the columns of `phases/seconds`."""
    count = run.phases["seconds"].shape[1]
    return [*run.phases.names("seconds"), *(f"part {i}" for i in range(count))][:count]


def _bar(name: str, totals: Floats, k: int, colour: str) -> go.Bar:
    share = totals[k] / totals.sum() if totals.sum() > 0 else 0.0
    text = f"{share:.1%}" if share > 0.04 else ""
    return go.Bar(
        x=[float(totals[k])], y=["all"], orientation="h", name=plain(name), legendgroup=name,
        hovertemplate=f"{plain(name)}: %{{x:.1f}} s, {share:.2%}<extra></extra>", marker={"color": colour},
        text=[text], textposition="inside", insidetextanchor="middle", textangle=0,
    )  # fmt: skip


def _add_areas(fig: go.Figure, run: Run, seconds: Floats, kinds: dict[str, tuple[int, str]]) -> None:
    """Stack the milliseconds a step of each kind, each phase's from its start to its end."""
    steps = run.phases["steps"].astype(np.float64)
    means, first = binned(1000 * seconds / np.maximum(steps, 1)[:, None], steps, MOST)
    x = np.append(run.phases["start"][first], phase_ends(run)[-1]).astype(np.int32)
    held = f4(np.concatenate([means, means[-1:]]))
    for name, (k, colour) in kinds.items():
        area = go.Scatter(
            x=x, y=held[:, k], name=plain(name), legendgroup=name, showlegend=False, stackgroup="seconds", mode="lines",
            line={"width": 0.5, "color": colour, "shape": "hv"}, fillcolor=colour,
            hovertemplate="%{y:.2f} ms at step %{x}<extra>" + plain(name) + "</extra>",
        )  # fmt: skip
        fig.add_trace(area, row=2, col=1)


def _phase_bars(run: Run, seconds: Floats, colour: str) -> go.Bar:
    """Draw the probes' seconds of each phase as a thin bar at the phase's end, where they work."""
    ends = phase_ends(run)
    shown = _longest(seconds, MOST)
    return go.Bar(
        x=ends[shown].astype(np.int32), y=f4(seconds[shown]), width=max(1.0, ends[-1] / 300), legendgroup=PROBES,
        showlegend=False, marker={"color": colour, "line": {"width": 0}},
        hovertemplate="%{y:.3f} s in the phase that ended at step %{x}<extra>probes</extra>",
    )  # fmt: skip


def _longest(seconds: Floats, most: int) -> Indices:
    """Return the indices of the `most` longest, in order: where probes took no time there is nothing to draw."""
    return np.sort(np.argsort(-np.nan_to_num(seconds), kind="stable")[:most])


def _dress(fig: go.Figure, run: Run, rows: int) -> None:
    """Title the axes, and draw the stage borders in the figures over steps only: the first one's axis is seconds."""
    fig.update_xaxes(title_text="seconds", row=1, col=1)
    fig.update_yaxes(showticklabels=False, row=1, col=1)
    fig.update_yaxes(title_text="milliseconds a step", row=2, col=1)
    end = int(phase_ends(run)[-1])
    for row in range(2, rows + 1):
        fig.update_xaxes(title_text="step" if row == rows else "", range=[-0.006 * end, 1.006 * end], row=row, col=1)
        before = len(fig.layout.shapes)
        stage_bands(fig, drawn_stages(run), labelled=False)
        for shape in fig.layout.shapes[before:]:
            shape.update(xref=f"x{row}", yref=f"y{row} domain")
