"""A picture of regions as one SVG file, written by hand: a triangle, or parallel axes with a panel a region."""

import math
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from andrea_core.report.region_facts import number
from andrea_core.report.region_shape import HEIGHT, Picture, Shape
from andrea_core.report.style import FONT, GRID, INK, MUTED, PAPER, stage_colours

SIDE, TOP, LEFT = 460.0, 64.0, 190.0
WIDE, TALL = 840.0, 540.0
AXIS, PANEL, GAP = 46.0, 190.0, 46.0
LINES = 120
SHORT = 5
"""Names of no more letters than this fit side by side below the axes."""
EDGE, LETTER = 24.0, 0.62
"""Room kept free at the sides, and about how wide a bold letter is in proportion to its size."""
TICKS = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)


def svg(picture: Picture) -> str:
    """Return the SVG text of a picture."""
    colours = stage_colours([shape.name for shape in picture.shapes])
    return _triangle(picture, colours) if picture.plane is not None else _parallel(picture, colours)


def _triangle(picture: Picture, colours: dict[str, str]) -> str:
    parts = [_grid(), *_corner_names(picture.labels)]
    for shape in picture.shapes:
        parts += _region_parts(picture, shape, colours[shape.name])
    lines = [(f"{shape.name}: dimension {shape.region.dimension}", colours[shape.name]) for shape in picture.shapes]
    parts += [_text(24, 30 + 20 * i, line, colour, weight=600) for i, (line, colour) in enumerate(lines)]
    alone = any(shape.corners is not None for shape in picture.shapes)
    marks = ["dots: uniform draws"] if any(shape.region.dimension for shape in picture.shapes) else []
    marks += ["circle: their mean"] if any(shape.mean is not None for shape in picture.shapes) else []
    marks += ["cross: centre"] + (["squares: vertices"] if alone else [])
    marks += ["dashed ring: largest ball"] if any(shape.ball for shape in picture.shapes) else []
    parts.append(_text(24, TALL - 16, "; ".join(marks), MUTED, 12))
    return _document(WIDE, TALL, parts)


def _region_parts(picture: Picture, shape: Shape, colour: str) -> list[str]:
    """Return the outline, the draws and the marked points of one region in the triangle."""
    plane, outline = picture.plane, shape.outline
    if plane is None or outline is None:
        return []
    path = " ".join(_pair(place) for place in _placed(outline))
    parts = [
        f'<polygon points="{path}" fill="{colour}" fill-opacity="0.10" stroke="{colour}" stroke-width="2" '
        'stroke-linejoin="round"/>'
    ]
    parts += [_dot(place, 1.6, colour, 0.45) for place in _placed(plane.project(shape.draws))]
    centre = _placed(plane.project(shape.region.centre[None]))[0]
    ball = _placed(plane.project(shape.region.chebyshev().centre[None]))[0]
    if shape.ball:
        parts.append(
            f'<circle cx="{ball[0]:.1f}" cy="{ball[1]:.1f}" r="{shape.ball * SIDE:.1f}" fill="none" '
            f'stroke="{colour}" stroke-width="1.2" stroke-dasharray="5 4"/>'
        )
    parts.append(_cross(centre, 6, INK))
    if shape.mean is not None:
        middle = _placed(plane.project(shape.mean[None]))[0]
        parts.append(_ring(middle, 5, colour))
    return parts + _vertex_parts(shape, colour)


def _vertex_parts(shape: Shape, colour: str) -> list[str]:
    """Return the vertices as squares, each with its weights beside it, away from the middle."""
    if shape.corners is None:
        return []
    places = _placed(shape.corners)
    middle, parts = places.mean(axis=0), []
    for place, vertex in zip(places, shape.region.vertices(), strict=True):
        x, y = place
        parts.append(f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>')
        away = place - middle
        side = "start" if away[0] >= 0 else "end"
        shift = 12 if side == "start" else -12
        weights = ", ".join(number(weight) for weight in vertex[shape.region.upper > 0])
        parts.append(_text(x + shift, y + (16 if away[1] > 0 else -6), f"({weights})", INK, 12, side))
    return parts


def _grid() -> str:
    """Return the triangle with lines at quarters of each corner's share."""
    top, left, right = _placed(np.array([[0.5, HEIGHT], [0.0, 0.0], [1.0, 0.0]]))
    lines = [
        f'<polygon points="{_pair(top)} {_pair(left)} {_pair(right)}" fill="none" stroke="{MUTED}" stroke-width="1.2"/>'
    ]
    for share in (0.25, 0.5, 0.75):
        for at, one, other in ((top, left, right), (left, right, top), (right, top, left)):
            start, end = share * at + (1 - share) * one, share * at + (1 - share) * other
            lines.append(_line(start, end, GRID))
    return "".join(reversed(lines))


def _corner_names(labels: Sequence[str]) -> list[str]:
    top, left, right = _placed(np.array([[0.5, HEIGHT], [0.0, 0.0], [1.0, 0.0]]))
    return [
        _text(top[0], top[1] - 24, labels[0], INK, 15, "middle", 600),
        _corner_name(left[0] - 12, left[1] + 36, labels[1]),
        _corner_name(right[0] + 12, right[1] + 36, labels[2]),
    ]


def _corner_name(x: float, y: float, label: str) -> str:
    """Return a name below its corner, moved inward where it would not fit on the page; a very long one gets smaller."""
    most = WIDE - 2 * EDGE
    size = min(15.0, most / (LETTER * max(len(label), 1)))
    half = 0.5 * LETTER * size * len(label)
    return _text(min(max(x, EDGE + half), WIDE - EDGE - half), y, label, INK, size, "middle", 600)


def _parallel(picture: Picture, colours: dict[str, str]) -> str:
    wide = max(2 * _margin(picture.names) + AXIS * len(picture.names), 620.0)
    foot = 34 + 4.6 * max(len(name) for name in picture.names)
    tall = 30 + len(picture.shapes) * (PANEL + GAP) + foot
    parts: list[str] = []
    for i, shape in enumerate(picture.shapes):
        parts += _panel(shape, 46 + i * (PANEL + GAP), wide, colours[shape.name])
    bottom = 46 + (len(picture.shapes) - 1) * (PANEL + GAP) + PANEL
    parts += _axis_names(_axes(picture.names, wide), picture.names, bottom + 18)
    marks = ["bars: floor to cap", "lines: uniform draws"]
    marks += ["circles: their mean"] if any(shape.mean is not None for shape in picture.shapes) else []
    marks += ["x: excluded"] if any((shape.region.upper == 0).any() for shape in picture.shapes) else []
    parts.append(_text(24, tall - 10, "; ".join([*marks, "square-root scale"]), MUTED, 12))
    return _document(wide, tall, parts)


def _axis_names(xs: Sequence[float], names: Sequence[str], y: float) -> list[str]:
    """Return the names below their axes: upright where all are short, else leaning to the left."""
    if max(len(name) for name in names) <= SHORT:
        return [_text(x, y, name, INK, 12, "middle") for x, name in zip(xs, names, strict=True)]
    return [
        f'<g transform="rotate(-40 {x:.1f} {y:.1f})">{_text(x, y, name, INK, 12, "end")}</g>'
        for x, name in zip(xs, names, strict=True)
    ]


def _panel(shape: Shape, top: float, wide: float, colour: str) -> list[str]:
    """Return one region: a bar a source from floor to cap, its draws as lines across, its mean as circles."""
    region = shape.region
    xs, edge = _axes(region.names, wide), _margin(region.names)
    title = f"{shape.name}: {int((region.upper > 0).sum())} sources, dimension {region.dimension}"
    parts = [_text(24, top - 12, title, colour, 14, weight=600)]
    for tick in TICKS:
        y = _height(tick, top)
        parts.append(_line(np.array([edge - 14, y]), np.array([wide - edge + 14, y]), GRID))
        parts.append(_text(edge - 20, y + 4, f"{tick:g}", MUTED, 10, "end"))
    for draw in shape.draws[:LINES]:
        path = " ".join(f"{x:.1f},{_height(float(w), top):.1f}" for x, w in zip(xs, draw, strict=True))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-opacity="0.13"/>')
    for i, x in enumerate(xs):
        low, high = _height(float(region.lower[i]), top), _height(float(region.upper[i]), top)
        if region.upper[i] == 0:
            parts.append(_cross(np.array([x, low]), 4, MUTED, turned=True))
            continue
        parts.append(
            f'<rect x="{x - 5:.1f}" y="{high:.1f}" width="10" height="{max(low - high, 1):.1f}" rx="2" '
            f'fill="{colour}" fill-opacity="0.18" stroke="{colour}" stroke-opacity="0.7"/>'
        )
        if shape.mean is not None:
            parts.append(_ring(np.array([x, _height(float(shape.mean[i]), top)]), 3.5, colour))
    return parts


def _margin(names: Sequence[str]) -> float:
    """Return the room at either side: the names lean to the left of their axes."""
    return max(64.0, 5.2 * max(len(name) for name in names))


def _axes(names: Sequence[str], wide: float) -> list[float]:
    edge = _margin(names)
    step = (wide - 2 * edge) / len(names)
    return [edge + (i + 0.5) * step for i in range(len(names))]


def _height(weight: float, top: float) -> float:
    return top + PANEL * (1 - math.sqrt(weight))


def _placed(places: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return places of the unit triangle (n, 2) in the coordinates of the drawing, y downwards."""
    return np.column_stack([LEFT + SIDE * places[:, 0], TOP + SIDE * (HEIGHT - places[:, 1])])


def _pair(place: npt.NDArray[np.float64]) -> str:
    return f"{place[0]:.1f},{place[1]:.1f}"


def _line(start: npt.NDArray[np.float64], end: npt.NDArray[np.float64], colour: str) -> str:
    return f'<path d="M{_pair(start)} L{_pair(end)}" stroke="{colour}" fill="none"/>'


def _dot(place: npt.NDArray[np.float64], radius: float, colour: str, opacity: float) -> str:
    return f'<circle cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{radius}" fill="{colour}" fill-opacity="{opacity}"/>'


def _ring(place: npt.NDArray[np.float64], radius: float, colour: str) -> str:
    return (
        f'<circle cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{radius}" fill="{PAPER}" stroke="{colour}" '
        'stroke-width="2"/>'
    )


def _cross(place: npt.NDArray[np.float64], size: float, colour: str, turned: bool = False) -> str:
    x, y = place
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if turned else ""
    return (
        f'<path d="M{x - size:.1f},{y:.1f} h{2 * size:.1f} M{x:.1f},{y - size:.1f} v{2 * size:.1f}" '
        f'stroke="{colour}" stroke-width="2"{turn}/>'
    )


def _text(
    x: float, y: float, text: str, colour: str, size: float = 14, anchor: str = "start", weight: int = 400
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size:g}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )


def _document(wide: float, tall: float, parts: Iterable[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{tall:.0f}" '
        f'viewBox="0 0 {wide:.0f} {tall:.0f}" font-family="{escape(FONT)}">\n'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>\n{body}\n</svg>\n'
    )
