"""The walk on the simplex: each phase a point of a fixed plane, inside the shadow of its stage's region."""

from collections.abc import Sequence

import attrs
import numpy as np
import plotly.graph_objects as go

from andrea_core.report.corners import Labels, extent, placed, pure_sources
from andrea_core.report.panel import Panel
from andrea_core.report.projection import Plane, polygon, principal, region_of, shadow
from andrea_core.report.style import INK, MUTED, f4, faded, figure, plain, stage_colours
from andrea_core.report.timeline import Indices, every, policy_names, stage_names
from andrea_core.runs.store import Run
from andrea_core.simplex import Region
from andrea_core.values import Vector

MOST, CLOUD = 1500, 250
_SYMBOLS = ("arrow", "diamond", "square", "triangle-up", "cross", "star-triangle-down")


@attrs.frozen(eq=False)
class Walk:
    """What the pictures of a walk share: landed weights (n, K), each shown phase's index, stage, policy and text.

    `before` (n, K) are the weights of the phase just before each one, shown or not.
    """

    weights: Vector
    before: Vector
    phase: Indices
    stages: Sequence[str]
    policies: Sequence[str]
    texts: Sequence[str]
    regions: dict[str, Region]


def walk_panel(run: Run) -> Panel | None:
    """Return the walk on two fixed planes; None without phases or with a single source."""
    if run.phases.rows == 0 or "weights" not in run.phases or len(run.sources) < 2:
        return None
    walk = _walk(run)
    planes = (principal(run.phases["weights"].astype(np.float64)), polygon(len(run.sources)))
    figures = tuple(_figure(run, walk, plane) for plane in planes if plane is not None)
    how = (
        "A point is one phase's weights, the line joins phases in time, and a tinted area is the exact shadow of all "
        "that a stage's floors, caps and exclusions let the walk reach."
    )
    return Panel("walk", "The walk on the simplex", how, _more(run, walk), figures)


def _figure(run: Run, walk: Walk, plane: Plane) -> go.Figure:
    legend = {"orientation": "h", "x": 0, "y": 0, "yanchor": "top", "font": {"size": 12}}
    fig = figure(620, margin={"l": 4, "r": 4, "t": 30, "b": 56}, hovermode="closest", legend=legend)
    corners = plane.corners()
    labels = placed(corners, run.sources, plane.project(walk.weights))
    low, high = extent(corners, labels)
    fig.update_xaxes(visible=False, range=[low[0], high[0]])
    fig.update_yaxes(visible=False, range=[low[1], high[1]], scaleanchor="x")
    fig.add_traces(_traces(run, walk, plane, labels))
    return fig.update_layout(meta={"caption": _described(plane, labels)})


def _walk(run: Run) -> Walk:
    shown = every(run.phases.rows, MOST)
    stages = stage_names(run) or ["run"] * run.phases.rows
    policies = policy_names(run)
    weights = run.phases["weights"].astype(np.float64)
    texts = [_text(run, int(i), stages[i], policies[i]) for i in shown]
    chosen = [[names[i] for i in shown] for names in (stages, policies)]
    return Walk(
        weights[shown], weights[np.maximum(shown - 1, 0)], shown, chosen[0], chosen[1], texts, _regions(run, stages)
    )


def _regions(run: Run, stages: Sequence[str]) -> dict[str, Region]:
    if not run.phases.has("lower", "upper"):
        return {}
    regions = {}
    for name in dict.fromkeys(stages):
        rows = np.flatnonzero(np.array(stages) == name)
        region = region_of(run.sources, run.phases["lower"][rows], run.phases["upper"][rows])
        if region is not None:
            regions[name] = region
    return regions


def _text(run: Run, i: int, stage: str, policy: str) -> str:
    weights = run.phases["weights"][i]
    heaviest = np.argsort(-weights, kind="stable")[:3]
    parts = [f"{plain(run.sources[k])} {weights[k]:.3f}" for k in heaviest if weights[k] > 0]
    start = int(run.phases["start"][i]) if "start" in run.phases else "?"
    return "<br>".join([f"phase {i}, from step {start}, {plain(stage)}, {plain(policy)}", *parts])


def _described(plane: Plane, labels: Labels) -> str:
    hover = "hover over a cross names its source" if len(labels.shown) < len(plane.origin) else ""
    if np.isnan(plane.explained).any():
        return "Regular polygon: pure sources at the corners" + (f"; {hover}" if hover else "")
    first, second = plane.explained
    said = f"Principal plane (PCA): shows {first:.0%} + {second:.0%} of the walk's variance"
    return said + (f"; {hover}" if hover else "")


def _more(run: Run, walk: Walk) -> str:
    thinned = len(walk.phase) < run.phases.rows
    shown = f" Of {run.phases.rows} phases {len(walk.phase)} are drawn, evenly spread." if thinned else ""
    return (
        "Both planes are fixed for the whole run. On the polygon a mix lies at the centre of mass of its sources. The "
        "first is the orthogonal projection on the two directions in which the landed weights vary most: distances "
        "there never exceed the true ones. Faint dots are uniform draws from each stage's region, which is the "
        "smallest box around its bounds where those moved. Rings are random phases; arrows and other marks are steps "
        "of a policy, pointing along the walk. Small crosses are pure sources: those with room carry their name, and "
        f"hovering over one names it.{shown}"
    )


def _traces(run: Run, walk: Walk, plane: Plane, labels: Labels) -> list[go.Scatter]:
    colours = stage_colours(walk.stages)
    places = plane.project(walk.weights)
    headings = _headings(places - plane.project(walk.before))
    traces = [t for name, region in walk.regions.items() for t in _region_traces(name, region, plane, colours[name])]
    traces.append(pure_sources(plane.corners(), run.sources, labels))
    stages = np.array(walk.stages)
    for span in dict.fromkeys(walk.stages):
        traces += _stage_traces(span, np.flatnonzero(stages == span), places, headings, walk, colours[span])
    ends = {"mode": "markers+text", "showlegend": False, "hoverinfo": "skip", "textfont": {"size": 12, "color": INK}}
    mark = {"size": 12, "symbol": ["circle-x", "star"], "color": INK, "line": {"color": "white", "width": 1}}
    both = f4(places[[0, -1]])
    where = [labels.beside(spot, plane.corners(), side) for spot, side in zip(both, ("top", "bottom"), strict=True)]
    traces.append(
        go.Scatter(x=both[:, 0], y=both[:, 1], text=["start", "end"], textposition=where, marker=mark, **ends)
    )
    return traces + _key(walk)


def _region_traces(name: str, region: Region, plane: Plane, colour: str) -> list[go.Scatter]:
    outline = f4(shadow(region, plane))
    cloud = f4(plane.project(region.sample(np.random.default_rng(0), CLOUD)))
    group = {"legendgroup": name, "hoverinfo": "skip", "showlegend": False}
    edge = {"color": faded(colour, 0.75), "width": 1.5}
    fill = {"fill": "toself", "fillcolor": faded(colour, 0.08)}
    dots = {"size": 3, "color": faded(colour, 0.28)}
    return [
        go.Scatter(x=outline[:, 0], y=outline[:, 1], mode="lines", line=edge, **fill, **group),
        go.Scatter(x=cloud[:, 0], y=cloud[:, 1], mode="markers", marker=dots, **group),
    ]


def _stage_traces(
    name: str, rows: Indices, places: Vector, headings: Vector, walk: Walk, colour: str
) -> list[go.Scatter]:
    """Draw one stage: its path, which begins at the last point of the stage before, and a mark a phase."""
    path = f4(places[np.concatenate([rows[:1] - 1, rows])] if rows[0] > 0 else places[rows])
    line = {"color": faded(colour, 0.4 if len(rows) < 300 else 0.16), "width": 1}
    group = {"legendgroup": name, "legend": "legend"}
    traces = [
        go.Scatter(x=path[:, 0], y=path[:, 1], mode="lines", line=line, hoverinfo="skip", showlegend=False, **group)
    ]
    symbols = _symbols(walk)
    for policy in dict.fromkeys(walk.policies[i] for i in rows):
        mine = np.array([i for i in rows if walk.policies[i] == policy])
        spots = f4(places[mine])
        marker = _marker(symbols[policy], colour, headings[mine], len(walk.phase))
        traces.append(
            go.Scatter(
                x=spots[:, 0], y=spots[:, 1], mode="markers", marker=marker, text=[walk.texts[i] for i in mine],
                hoverinfo="text", showlegend=False, **group,
            )
        )  # fmt: skip
    head = {"color": colour, "size": 11, "symbol": "square"}
    traces.append(go.Scatter(x=[None], y=[None], mode="markers", marker=head, name=plain(name), **group))
    return traces


def _symbols(walk: Walk) -> dict[str, str]:
    """Return a mark a policy: rings for random phases, arrows and others for the rest."""
    steering = [name for name in dict.fromkeys(sorted(walk.policies)) if name != "random"]
    return {"random": "circle-open"} | {name: _SYMBOLS[i % len(_SYMBOLS)] for i, name in enumerate(steering)}


def _marker(symbol: str, colour: str, headings: Vector, count: int) -> dict[str, object]:
    scale = 1.0 if count < 400 else 0.7
    look = {"symbol": symbol, "color": faded(colour, 0.85)}
    if symbol == "arrow":
        return look | {"size": 10 * scale, "angle": f4(headings), "line": {"width": 0.5, "color": "white"}}
    return look | {"size": 7 * scale, "line": {"width": 1.3}}


def _headings(moves: Vector) -> Vector:
    """Return the direction of moves (n, 2), in degrees clockwise from up."""
    return np.degrees(np.arctan2(moves[:, 0], moves[:, 1]))


def _key(walk: Walk) -> list[go.Scatter]:
    """Return legend entries for the policies' marks."""
    symbols = _symbols(walk)
    present = dict.fromkeys(sorted(walk.policies))
    return [
        go.Scatter(
            x=[None], y=[None], mode="markers", name=plain(f"{name} phase"), hoverinfo="skip", legendgroup="marks",
            marker={"symbol": symbols[name], "color": MUTED, "size": 10, "line": {"width": 1.3, "color": MUTED}},
        )
        for name in present
    ]  # fmt: skip
