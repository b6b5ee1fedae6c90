"""The pure sources of a walk's plane: crosses, and the names that find room beside them."""

from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np
import plotly.graph_objects as go

from andrea_core.report.style import MUTED, f4, plain, source_colours
from andrea_core.values import Vector

Box = tuple[float, float, float, float]  # left, bottom, right, top
LETTERS, BUSY, FEW = 18, 3, 8
LETTER, LINE = 0.0172, 0.038  # of the corners' extent: a letter's width and a line's height in a figure 500 pixels wide
GAP = 0.012  # between a cross and its name
_ALIGNED = {"right": 0.0, "center": -0.5, "left": -1.0}  # the part of its width by which a name starts off its cross
_RAISED = {"top": 0.0, "middle": -0.5, "bottom": -1.0}


@attrs.frozen
class Labels:
    """The names that are written, by the source's index, and the side of its cross that each one stands on."""

    shown: Mapping[int, str]
    sides: Mapping[int, str]

    def boxes(self, corners: Vector) -> Iterator[Box]:
        """Yield left, bottom, right and top of each name."""
        size = _size(corners)
        return (_box(corners[k], text, self.sides[k], size) for k, text in self.shown.items())

    def beside(self, spot: Vector, corners: Vector, side: str) -> str:
        """Return where a text at a spot (2,) goes: on a side, "top" or "bottom", or the other if a name is there."""
        size, other = _size(corners), "bottom" if side == "top" else "top"
        text = _box(np.asarray(spot, np.float64), " " * len("start"), f"{side} center", size)
        return f"{other if any(_overlap(text, box) for box in self.boxes(corners)) else side} center"


def placed(corners: Vector, sources: Sequence[str], walk: Vector) -> Labels:
    """Write as many names as find room beside their corner (K, 2): the outermost first, each on its first free side.

    No name overlaps another one or the cross of another source, and none stands where the walk (n, 2) is dense; but
    of a `FEW` sources each has its name, if need be over the walk.
    """
    size, middle = _size(corners), corners.mean(axis=0)
    taken: list[Box] = []
    shown, sides = dict[int, str](), dict[int, str]()
    for k in np.argsort(-np.linalg.norm(corners - middle, axis=1), kind="stable").tolist():
        text = sources[k] if len(sources[k]) <= LETTERS else sources[k][: LETTERS - 1] + "…"
        others = np.delete(corners, k, axis=0)
        free: list[tuple[int, Box, str]] = []
        for side in _sides(corners[k] - middle):
            box = _box(corners[k], text, side, size)
            if _under(box, others, size) == 0 and not any(_overlap(box, other) for other in taken):
                free.append((_under(box, walk, size), box, side))
        clear = [one for one in free if one[0] <= BUSY]
        if clear or (free and len(corners) <= FEW):
            _, box, side = clear[0] if clear else min(free, key=lambda one: one[0])
            taken.append(box)
            shown[k], sides[k] = text, side
    return Labels(shown, sides)


def extent(corners: Vector, labels: Labels) -> tuple[Vector, Vector]:
    """Return the lower left and upper right of the corners and their names."""
    edge = LINE * _size(corners)
    boxes = np.array([*labels.boxes(corners), (*corners.min(axis=0), *corners.max(axis=0))])
    return boxes[:, :2].min(axis=0) - edge, boxes[:, 2:].max(axis=0) + edge


def pure_sources(corners: Vector, sources: Sequence[str], labels: Labels) -> go.Scatter:
    """Draw a cross a source, with its name where that has room and on hover everywhere."""
    mark = {"symbol": "x-thin", "size": 8, "line": {"width": 2, "color": source_colours(len(corners))}}
    everyone = range(len(corners))
    return go.Scatter(
        x=f4(corners[:, 0]), y=f4(corners[:, 1]), mode="markers+text", marker=mark,
        text=[plain(labels.shown.get(k, "")) for k in everyone],
        textposition=[labels.sides.get(k, "top center") for k in everyone],
        hovertext=[f"only {plain(name)}" for name in sources], hoverinfo="text",
        showlegend=False, cliponaxis=False, textfont={"size": 11, "color": MUTED},
    )  # fmt: skip


def _sides(offset: Vector) -> list[str]:
    """Return where a corner's name may go, best first: away from the middle, then on the other sides."""
    across, back = ("right", "left") if offset[0] >= 0 else ("left", "right")
    away, near = ("top", "bottom") if offset[1] >= 0 else ("bottom", "top")
    steep = abs(offset[1]) > 2 * abs(offset[0])
    first = (
        [f"{away} center", f"{away} {across}"] if steep else [f"{away} {across}", f"middle {across}", f"{away} center"]
    )
    rest = [
        f"middle {across}",
        f"{near} {across}",
        f"{away} {back}",
        f"middle {back}",
        f"{near} center",
        f"{near} {back}",
    ]
    return list(dict.fromkeys([*first, *rest]))


def _box(corner: Vector, text: str, side: str, size: float) -> Box:
    raised, aligned = side.split()
    wide, high, gap = LETTER * size * len(text), LINE * size, GAP * size
    left = float(corner[0]) + _ALIGNED[aligned] * wide + {"right": gap, "center": 0.0, "left": -gap}[aligned]
    low = float(corner[1]) + _RAISED[raised] * high + {"top": gap, "middle": 0.0, "bottom": -gap}[raised]
    return left, low, left + wide, low + high


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _under(box: Box, points: Vector, size: float) -> int:
    """Return how many of the points a box comes over, their marks' size reckoned in."""
    low, high = np.array(box[:2]) - GAP * size / 2, np.array(box[2:]) + GAP * size / 2
    return int(((points > low) & (points < high)).all(axis=1).sum())


def _size(corners: Vector) -> float:
    return float(np.ptp(corners, axis=0).max()) or 1.0
