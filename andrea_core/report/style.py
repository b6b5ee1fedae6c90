"""The look that all figures share: one colour a source and a stage, axes, legends, hover boxes, stage bands."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from andrea_core.report.timeline import Span

INK, MUTED, GRID, PAPER = "#1f2733", "#667085", "#e7eaf0", "#ffffff"
FONT = "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
# Sixteen colours spread as far apart as possible in OKLab on white, ordered so that neighbours contrast.
_SOURCES = (
    *("#4965c9", "#ffae3c", "#11640e", "#f4707b", "#17c9d1", "#591e84", "#93d25c", "#a6621c"),
    *("#5cabfc", "#a9397e", "#719a0e", "#024a62", "#dba9c8", "#128d8f", "#c47be1", "#791a13"),
)
_STAGES = ("#3b5bdb", "#0ca678", "#e8590c", "#9c36b5", "#1098ad", "#66a80f")
_TINTS = ((255, 0.0), (255, 0.45), (0, 0.35), (255, 0.65), (0, 0.55))


def source_colours(count: int) -> list[str]:
    """Return one colour a source: sixteen, then their lighter and darker kin."""
    return [_tinted(_SOURCES[k % 16], *_TINTS[k // 16 % len(_TINTS)]) for k in range(count)]


def stage_colours(names: Sequence[str]) -> dict[str, str]:
    """Return one colour a stage, by name, in order of first appearance."""
    return {name: _STAGES[i % len(_STAGES)] for i, name in enumerate(dict.fromkeys(names))}


def faded(colour: str, alpha: float) -> str:
    """Return a `#rrggbb` colour as rgba with the given opacity."""
    return f"rgba({','.join(str(channel) for channel in _channels(colour))},{alpha})"


def f4(values: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Return values as float32, NaN where one is infinite or beyond that type: what a figure stores of a number."""
    array = np.asarray(values, np.float64)
    return np.where(np.abs(array) <= np.finfo(np.float32).max, array, np.nan).astype(np.float32)


def figure(height: int, x: str = "", y: str = "", **layout: Any) -> go.Figure:
    """Return an empty figure in the house style, its axes titled."""
    fig = styled(go.Figure(), height, **layout)
    fig.update_xaxes(title_text=x)
    fig.update_yaxes(title_text=y)
    return fig


def styled(fig: go.Figure, height: int, **layout: Any) -> go.Figure:
    """Give a figure the house style: white, light grid, quiet hover boxes, a legend at the right."""
    fig.update_layout(
        template="none",
        height=height,
        paper_bgcolor=PAPER,
        plot_bgcolor=PAPER,
        font={"family": FONT, "size": 13, "color": INK},
        margin={"l": 64, "r": 16, "t": 34, "b": 48},
        hoverlabel={"bgcolor": "#ffffff", "bordercolor": "#cfd6e1", "font": {"family": FONT, "size": 12, "color": INK}},
        legend={"font": {"size": 12}, "itemsizing": "constant", "tracegroupgap": 2},
    )
    axis = {"gridcolor": GRID, "linecolor": "#c5ccd8", "zeroline": False, "ticks": "", "automargin": True}
    title = {"font": {"size": 12, "color": MUTED}, "standoff": 8}
    small = {"size": 12, "color": MUTED}
    fig.update_xaxes(**axis, title=title, tickfont=small)
    fig.update_yaxes(**axis, title=title, tickfont=small)
    fig.update_layout(**layout)
    return fig


def colour_bar(title: str, **more: str) -> dict[str, Any]:
    """Return the look of a colour bar; `more` goes to its title."""
    text = {"size": 12, "color": MUTED}
    return {"title": {"text": title, "font": text, **more}, "tickfont": text, "thickness": 12, "outlinewidth": 0}


def stage_bands(fig: go.Figure, spans: Sequence[Span], labelled: bool = True, tinted: bool = True) -> None:
    """Fit the step axis to the record, mark the stages' borders and write their names above where there is room.

    Each stage's stretch is `tinted`, unless the figure's own colours would be mistaken for others then.
    """
    colours = stage_colours([span.name for span in spans])
    total = max((span.until for span in spans), default=0)
    if total and labelled:
        fig.update_xaxes(range=[-0.006 * total, 1.006 * total])
    for i, span in enumerate(spans):
        tint = faded(colours[span.name], 0.055)
        if tinted:
            fig.add_shape(
                type="rect", xref="x", yref="paper", x0=span.start, x1=span.until, y0=0, y1=1,
                fillcolor=tint, line_width=0, layer="below",
            )  # fmt: skip
        if i:
            line = {"color": faded(INK, 0.45), "width": 1, "dash": "dot"}
            fig.add_shape(type="line", xref="x", yref="paper", x0=span.start, x1=span.start, y0=0, y1=1, line=line)
        if labelled and span.until - span.start > 0.045 * total:
            fig.add_annotation(
                x=span.start, y=1, xref="x", yref="paper", xanchor="left", yanchor="bottom", showarrow=False,
                text=short(span.name, span, total), font={"size": 12, "color": colours[span.name]},
                name=f"stage {(span.until - span.start) / total:.4f}",
            )  # fmt: skip


def short(name: str, span: Span, total: int) -> str:
    """Cut a stage's name to what fits above its band, about 110 letters over the whole axis."""
    room = max(3, int(110 * (span.until - span.start) / max(total, 1)))
    return plain(name if len(name) <= room else name[: room - 1] + "…")


def plain(text: str) -> str:
    """Return a name as figure text: plotly reads a little HTML there, so that `<`, `>` and `&` are written out."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def choices(
    labels: Sequence[str], shown: Sequence[Sequence[bool]], titled: bool = False, **more: Any
) -> dict[str, Any]:
    """Return a drop-down that shows one set of traces at a time: `shown[i]` marks those of `labels[i]`.

    When `titled`, the vertical axis takes the label as its title.
    """
    buttons = [
        {
            "label": plain(label),
            "method": "update",
            "args": [{"visible": list(map(bool, visible))}, {"yaxis.title.text": plain(label)} if titled else {}],
        }
        for label, visible in zip(labels, shown, strict=True)
    ]
    place = {"x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "pad": {"b": 2}}
    look = {"bgcolor": "#f6f7fa", "bordercolor": "#d5dbe5", "font": {"size": 12}, "showactive": True}
    return {"buttons": buttons, **place, **look, **more}


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _tinted(colour: str, toward: int, part: float) -> str:
    red, green, blue = (round(channel + (toward - channel) * part) for channel in _channels(colour))
    return f"#{red:02x}{green:02x}{blue:02x}"
