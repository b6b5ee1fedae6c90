"""A picture of regions as an interactive HTML page: a triangle to hover over, or parallel coordinates to brush."""

import math

import numpy as np
import plotly.graph_objects as go

from andrea_core.report.region_facts import number
from andrea_core.report.region_shape import HEIGHT, Picture, Shape
from andrea_core.report.region_svg import svg
from andrea_core.report.style import INK, MUTED, faded, figure, plain, stage_colours, styled
from andrea_core.values import Vector

_STYLE = (
    "<style>body { font-family: system-ui, sans-serif; margin: 24px } svg { max-width: 100%; height: auto }</style>"
)
_BRUSH = (
    "The same draws to brush: drag along an axis to keep the draws that cross it there. All axes go from 0 to the "
    "largest draw."
)


def html(picture: Picture) -> str:
    """Return a whole page with the picture and the library that draws it, so that it works offline.

    Parallel coordinates know neither bounds nor means: there the drawn picture stands above what can be brushed.
    """
    colours = stage_colours([shape.name for shape in picture.shapes])
    flat = picture.plane is None
    fig = _parallel(picture, colours) if flat else _triangle(picture, colours)
    brushed: str = fig.to_html(include_plotlyjs=True, full_html=False, config={"displaylogo": False})
    drawn = f"{svg(picture)}<p>{_BRUSH}</p>" if flat else ""
    head = f'<head><meta charset="utf-8"><title>regions</title>{_STYLE}</head>'
    return f'<!DOCTYPE html>\n<html lang="en">{head}<body>{drawn}{brushed}</body></html>\n'


def _triangle(picture: Picture, colours: dict[str, str]) -> go.Figure:
    fig = figure(680, margin={"l": 16, "r": 16, "t": 36, "b": 36}, hovermode="closest")
    fig.update_xaxes(visible=False, range=[-0.25, 1.25])
    fig.update_yaxes(visible=False, range=[-0.12, HEIGHT + 0.1], scaleanchor="x")
    edge = np.array([[0.5, HEIGHT], [0.0, 0.0], [1.0, 0.0], [0.5, HEIGHT]])
    fig.add_scatter(x=edge[:, 0], y=edge[:, 1], mode="lines", line={"color": MUTED}, hoverinfo="skip", showlegend=False)
    fig.add_scatter(
        x=[0.5, -0.03, 1.03], y=[HEIGHT + 0.05, -0.05, -0.05], mode="text", text=[*map(plain, picture.labels)],
        hoverinfo="skip", showlegend=False, textfont={"size": 15, "color": INK},
    )  # fmt: skip
    for shape in picture.shapes:
        fig.add_traces(_region_traces(picture, shape, colours[shape.name]))
    return fig


def _region_traces(picture: Picture, shape: Shape, colour: str) -> list[go.Scatter]:
    if picture.plane is None or shape.outline is None:
        return []
    plane, region = picture.plane, shape.region
    group = {"legendgroup": shape.name, "hoverinfo": "text"}
    points = [("centre", region.centre, "cross")]
    points += [("mean of uniform draws", shape.mean, "circle-open")] if shape.mean is not None else []
    points += [("vertex", vertex, "square") for vertex in region.vertices()] if shape.corners is not None else []
    places, draws = plane.project(np.array([w for _, w, _ in points])), plane.project(shape.draws)
    return [
        go.Scatter(
            x=shape.outline[:, 0], y=shape.outline[:, 1], mode="lines", fill="toself", line={"color": colour},
            fillcolor=faded(colour, 0.1), name=plain(f"{shape.name}, dimension {region.dimension}"), **group,
        ),
        go.Scatter(
            x=draws[:, 0], y=draws[:, 1], mode="markers", marker={"size": 4, "color": faded(colour, 0.5)},
            text=[_told("a uniform draw", region.names, w) for w in shape.draws], showlegend=False, **group,
        ),
        go.Scatter(
            x=places[:, 0], y=places[:, 1], mode="markers",
            marker={"size": 10, "color": colour, "symbol": [symbol for *_, symbol in points], "line": {"width": 2}},
            text=[_told(what, region.names, w) for what, w, _ in points], showlegend=False, **group,
        ),
    ]  # fmt: skip


def _told(what: str, names: tuple[str, ...], w: Vector) -> str:
    heaviest = [int(k) for k in np.argsort(-w, kind="stable")[:6] if w[k] > 0]
    return "<br>".join([what, *(f"{plain(names[k])} {number(w[k])}" for k in heaviest)])


def _parallel(picture: Picture, colours: dict[str, str]) -> go.Figure:
    """Return parallel coordinates of the draws of all regions, coloured by region, every axis from 0 to the largest."""
    draws = np.concatenate([shape.draws for shape in picture.shapes])
    which = np.repeat(np.arange(len(picture.shapes)), [len(shape.draws) for shape in picture.shapes])
    top = math.ceil(20 * float(draws.max())) / 20
    ticks = [tick for tick in (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0) if tick <= top]
    dimensions = [
        {"label": plain(name), "values": draws[:, k], "range": [0, top], "tickvals": [] if k else ticks}
        for k, name in enumerate(picture.names)
    ]
    last = max(len(picture.shapes) - 1, 1)
    scale = [[i / last, colour] for i, colour in enumerate(colours.values())]
    scale = scale if len(scale) > 1 else [[0, scale[0][1]], [1, scale[0][1]]]
    line = {"color": which, "colorscale": scale, "cmin": 0, "cmax": last}
    hidden = {"color": "rgba(0,0,0,0)"}
    fig = styled(go.Figure(go.Parcoords(dimensions=dimensions, line=line, labelangle=-40, rangefont=hidden)), 620)
    legend = "   ".join(
        f'<b style="color:{colours[shape.name]}">{plain(shape.name)}, dimension {shape.region.dimension}</b>'
        for shape in picture.shapes
    )
    title = {"text": legend, "font": {"size": 14}, "y": 0.97}
    return fig.update_layout(title=title, margin={"l": 80, "r": 60, "t": 170, "b": 30})
