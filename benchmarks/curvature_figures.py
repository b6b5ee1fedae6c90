"""Figures of curvature for the docs: Adam's first steps with and without warm-up, and a spectrum, as SVG.

curvature_figures first OUT RUN...         runs of scenarios/edge.toml; those without warm-up are one colour
curvature_figures spectrum OUT RUN         a run's record, or that of `andrea probe`, with a look of `spectrum`
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import attrs
import numpy as np

from andrea_core import open_run

WIDE, TALL, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 62, 16, 20, 46
WITHOUT, WITH, GREY = "#d55e00", "#0072b2", "#667085"


@attrs.frozen
class Axes:
    """A frame with a linear horizontal axis and a logarithmic vertical one, in decades."""

    low: float
    high: float
    least: int
    most: int

    def x(self, value: float) -> float:
        """Return the place of a value on the horizontal axis."""
        return LEFT + (value - self.low) / (self.high - self.low) * (WIDE - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Return the place of a positive value on the vertical axis; one below the frame lies on its lower edge."""
        decades = max(np.log10(max(value, 1e-300)), self.least)
        return TALL - BOTTOM - (decades - self.least) / (self.most - self.least) * (TALL - TOP - BOTTOM)

    def curve(self, xs: Sequence[float], ys: Sequence[float], colour: str) -> str:
        """Return a line through points."""
        places = "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in zip(xs, ys, strict=True))
        return f'<path fill="none" stroke="{colour}" stroke-width="1.5" d="M{places}"/>'

    def grid(self, ticks: Sequence[float], across: str, up: str) -> list[str]:
        """Return the axes with their numbers and names."""
        parts = []
        for decade in range(self.least, self.most + 1):
            y = self.y(10.0**decade)
            parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDE - RIGHT}" stroke="#e7eaf0"/>')
            parts.append(text(LEFT - 6, y + 4, f"{10.0**decade:g}" if decade > -4 else f"1e{decade}", "end"))
        parts += [text(self.x(tick), TALL - BOTTOM + 18, f"{tick + 0.0:g}") for tick in ticks]
        middle = (TALL - BOTTOM + TOP) / 2
        parts.append(text((LEFT + WIDE - RIGHT) / 2, TALL - 8, across))
        parts.append(f'<g transform="rotate(-90 14 {middle:.0f})">{text(14, middle, up)}</g>')
        return parts


def text(x: float, y: float, words: str, anchor: str = "middle", colour: str = "#1f2733") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def document(parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {TALL}" font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, f'<rect width="{WIDE}" height="{TALL}" fill="#fff"/>', *parts, "</svg>"]) + "\n"


def first_steps(folders: Sequence[str]) -> str:
    curves = []
    for folder in folders:
        run = open_run(folder)
        table, rates = run.probes["adam_sharpness"], run.steps["lr"]
        early, warm = table["step"] <= 30, rates[0] < rates.max() / 2
        ratio = table["largest"][early] * rates[table["step"][early].astype(int) - 1] / 38
        curves.append((table["step"][early], ratio, WITH if warm else WITHOUT))
    values = np.concatenate([ratio for _, ratio, _ in curves])
    axes = Axes(0, 31, int(np.floor(np.log10(values.min()))), int(np.ceil(np.log10(values.max()))))
    parts = axes.grid(range(0, 31, 5), "finished steps", "preconditioned curvature, in thresholds")
    parts.append(f'<path d="M{LEFT} {axes.y(1):.1f}H{WIDE - RIGHT}" stroke="{GREY}" stroke-dasharray="5 4"/>')
    parts.append(text(WIDE - RIGHT - 4, axes.y(1) - 5, "edge of stability", "end", GREY))
    parts += [axes.curve(*curve) for curve in curves]
    for row, (words, colour) in enumerate((("without warm-up", WITHOUT), ("with warm-up", WITH))):
        count = sum(one == colour for *_, one in curves)
        parts.append(text(WIDE - RIGHT - 4, TOP + 14 + 16 * row, f"{words}, {count} seeds", "end", colour))
    return document(parts)


def spectrum(folder: str) -> str:
    table = open_run(folder).probes["spectrum"]
    grid, density = table["eigenvalue"][-1], table["density"][-1]
    most = int(np.ceil(np.log10(density.max())))
    low, high = float(grid[0]), float(grid[-1])
    axes = Axes(low, high, most - 7, most)
    step = 10.0 ** np.floor(np.log10(high - low))
    step = step / 5 if (high - low) / step < 2 else step / 2 if (high - low) / step < 5 else step
    ticks = [float(tick) for tick in np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step]
    parts = axes.grid(ticks, "eigenvalue of the Hessian", "density")
    parts.append(f'<path d="M{axes.x(0):.1f} {TOP}V{TALL - BOTTOM}" stroke="{GREY}" stroke-dasharray="5 4"/>')
    parts.append(axes.curve(grid, density, WITH))
    for name in ("low", "high"):
        value = float(table[name][-1])
        parts.append(text(axes.x(value), axes.y(10.0 ** (most - 7)) - 128, f"{value:.3g}", "middle", GREY))
        parts.append(f'<path d="M{axes.x(value):.1f} {TALL - BOTTOM}V{TALL - BOTTOM - 115}" stroke="{GREY}"/>')
    return document(parts)


def main() -> None:
    if len(sys.argv) < 4 or sys.argv[1] not in ("first", "spectrum"):
        sys.exit(__doc__)
    drawn = first_steps(sys.argv[3:]) if sys.argv[1] == "first" else spectrum(sys.argv[3])
    Path(sys.argv[2]).write_text(drawn, encoding="utf-8")
