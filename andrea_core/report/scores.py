"""What policies and rewards said about each source: UCB scores and other notes as curves, rewards as a heat map."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from andrea_core.report.panel import Panel
from andrea_core.report.style import choices, f4, figure, plain, source_colours, stage_bands
from andrea_core.report.timeline import Floats, drawn_stages, every, phase_ends, policy_names
from andrea_core.runs.store import Run
from andrea_core.runs.table import Array

MOST, CELLS = 1500, 600
UNSEEN = "#d3d7de"
_DIVERGING = [[0.0, "#b2483f"], [0.25, "#e6a59b"], [0.5, "#f7f7f7"], [0.75, "#9db8e6"], [1.0, "#2f4bc4"]]


def scores_panel(run: Run) -> Panel | None:
    """Return the policies' notes by source, `score` first; None when no policy left any."""
    notes = {name: run.notes[name] for name in sorted(run.notes, key=lambda name: (name != "score", name))}
    notes = {name: values for name, values in notes.items() if values.shape[1:] == (len(run.sources),)}
    if not notes or "start" not in run.phases:
        return None
    ucb = "ucb1" in _noted_by(run, notes.get("score"))
    which = "; ".join(f"{name}, noted by {' and '.join(_noted_by(run, values))}" for name, values in notes.items())
    how = f"A curve is one source's value of what a policy noted ({which}); its name stands at the vertical axis."
    more = "Only phases whose policy noted something have a point; infinite values are left out."
    if ucb:
        how += " In a UCB phase the walk steps toward the vertex of the region that the scores favour."
        more += (
            " A source's UCB score is its mean reward plus a bonus that grows while the source is not chosen, infinite "
            "before it was tried."
        )
    title = "What the policies noted: UCB scores" if ucb else "What the policies noted"
    return Panel("scores", title, how, more, (_curves(run, notes),))


def rewards_panel(run: Run) -> Panel | None:
    """Return the rewards by source and phase; None when there is none."""
    if not run.phases.has("reward", "start", "steps") or not np.isfinite(run.phases["reward"]).any():
        return None
    shown = every(run.phases.rows, CELLS)
    rewards = run.phases["reward"].astype(np.float64)[shown]
    rewards[~np.isfinite(rewards)] = np.nan
    edges = np.append(run.phases["start"][shown], phase_ends(run)[-1]).astype(np.int32)
    most = float(np.nanquantile(np.abs(rewards), 0.98)) or 1.0
    fig = figure(max(240, 110 + 20 * len(run.sources)), "step", plot_bgcolor=UNSEEN)
    fig.add_trace(
        go.Heatmap(
            x=edges, y=[plain(name) for name in run.sources], z=f4(rewards.T), zmin=-most, zmax=most,
            colorbar={"title": {"text": "reward"}, "thickness": 12, "outlinewidth": 0},
            hoverongaps=False, colorscale=_DIVERGING, hovertemplate="%{y}: %{z:.4g} at step %{x}<extra></extra>",
        )
    )  # fmt: skip
    fig.update_xaxes(showgrid=False)
    fig.update_yaxes(autorange="reversed", showgrid=False)
    stage_bands(fig, drawn_stages(run), tinted=False)  # a tint would make "not seen" another grey in each stage
    how = "Blue: the phase earned the source a reward above 0, red below; grey: the source was not seen."
    some = (
        f" Of {run.phases.rows} phases {len(shown)} are drawn, evenly spread." if len(shown) < run.phases.rows else ""
    )
    more = (
        f"Under the reward named improvement, above 0 means that the source's loss fell below its running mean.{some}"
    )
    return Panel("rewards", "Rewards", how, more, (fig,))


def _noted_by(run: Run, values: Floats | None) -> list[str]:
    """Return the policies that acted in phases with a value, in order of first appearance."""
    if values is None:
        return []
    noted = np.flatnonzero(~np.isnan(values).all(axis=1))
    names = policy_names(run)
    return list(dict.fromkeys(names[i] for i in noted))


def _curves(run: Run, arrays: Mapping[str, Floats]) -> go.Figure:
    fig = figure(490, "step", plain(next(iter(arrays))), hovermode="closest")
    colours = source_colours(len(run.sources))
    owner: list[str] = []
    for name, values in arrays.items():
        acted = np.flatnonzero(np.isfinite(values).any(axis=1))
        shown = acted[every(len(acted), MOST)]
        x = run.phases["start"][shown].astype(np.int32)
        for k, source in enumerate(run.sources):
            trace = _curve(x, values[shown, k], plain(source), colours[k], name)
            trace.visible = name == next(iter(arrays))
            fig.add_trace(trace)
            owner.append(name)
    stage_bands(fig, drawn_stages(run))
    if len(arrays) > 1:
        shown_by = [[name == note for name in owner] for note in arrays]
        fig.update_layout(updatemenus=[choices(list(arrays), shown_by, titled=True, y=1.07)], margin={"t": 70})
    return fig


def _curve(x: Array, values: Floats, name: str, colour: str, note: str) -> go.Scatter:
    finite = np.isfinite(values)
    few = int(finite.sum()) < 300
    return go.Scatter(
        x=x[finite], y=f4(values[finite]), name=name, mode="lines+markers" if few else "lines",
        line={"color": colour, "width": 1.4 if few else 0.9}, marker={"size": 4},
        hovertemplate=plain(note) + " %{y:.4g} at step %{x}<extra>%{fullData.name}</extra>",
    )  # fmt: skip
