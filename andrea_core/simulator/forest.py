"""A race as one picture: each policy's mean regret with its interval, uniform's as a line, written as SVG by hand."""

import math
from collections.abc import Iterator, Sequence
from html import escape

from andrea_core.report.style import FONT, GRID, INK, MUTED
from andrea_core.simulator.standings import UNDECIDED, Estimate, Standing

ROW, LEFT, PLOT, RIGHT, TOP, BELOW = 24, 212, 560, 92, 64, 54
LONGEST = 28
COLOURS = {"better": "#0ca678", "worse": "#d9480f", UNDECIDED: MUTED, "-": INK}
TICKS = 5


def forest(rows: Sequence[Standing], title: str) -> str:
    """Return the picture of a race's table, the best policy on top."""
    low, high, step = scale(rows)
    height, width = TOP + ROW * len(rows) + BELOW, LEFT + PLOT + RIGHT

    def x(value: float) -> float:
        return LEFT + PLOT * (value - low) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="{escape(FONT, quote=True)}" font-size="13" fill="{INK}">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="16" y="26" font-size="15" font-weight="600">{escape(title)}</text>',
        *_key(),
    ]
    bottom = TOP + ROW * len(rows)
    for i in range(round((high - low) / step) + 1):
        place = x(low + i * step)
        parts.append(f'<line x1="{place:.1f}" y1="{TOP}" x2="{place:.1f}" y2="{bottom}" stroke="{GRID}"/>')
        label = f"{low + i * step:.6g}"
        parts.append(f'<text x="{place:.1f}" y="{bottom + 18}" text-anchor="middle" fill="{MUTED}">{label}</text>')
    middle = LEFT + PLOT / 2
    parts.append(
        f'<text x="{middle}" y="{bottom + 40}" text-anchor="middle" fill="{MUTED}">regret, nats a token</text>'
    )
    uniform = next(row for row in rows if row.word == "-")
    line = f'x1="{x(uniform.regret.mean):.1f}" x2="{x(uniform.regret.mean):.1f}" y1="{TOP}" y2="{bottom}"'
    parts.append(f'<line {line} stroke="{INK}" stroke-dasharray="4 4"/>')
    for index, row in enumerate(rows):
        parts += _row(row, TOP + ROW * (index + 0.5), x(row.regret.mean), _ends(row.regret, low, high))
    return "\n".join([*parts, "</svg>"]) + "\n"


def scale(rows: Sequence[Standing]) -> tuple[float, float, float]:
    """Return the axis from 0 to a round number beyond every interval, and the distance of its ticks."""
    most = max(row.regret.mean + (0.0 if math.isnan(row.regret.half) else row.regret.half) for row in rows)
    rough = max(most, 1e-9) / TICKS
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(size * unit for size in (1.0, 2.0, 2.5, 5.0, 10.0) if size * unit >= rough)
    return 0.0, step * math.ceil(most / step - 1e-9) or step, step


def _ends(regret: Estimate, low: float, high: float) -> tuple[float, float]:
    half = 0.0 if math.isnan(regret.half) else regret.half
    place = LEFT + PLOT * (regret.mean - low) / (high - low)
    reach = PLOT * half / (high - low)
    return max(place - reach, LEFT), place + reach


def _row(row: Standing, y: float, place: float, ends: tuple[float, float]) -> Iterator[str]:
    colour = COLOURS[row.word]
    weight = "" if row.learns else ' fill-opacity="0.6"'
    yield f'<text x="{LEFT - 12}" y="{y + 4.5:.1f}" text-anchor="end"{weight}>{escape(_short(row.policy))}</text>'
    yield f'<line x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}" stroke-width="2"/>'
    fill = colour if row.learns else "white"
    yield f'<circle cx="{place:.1f}" cy="{y:.1f}" r="4.5" fill="{fill}" stroke="{colour}" stroke-width="2"/>'
    yield f'<text x="{LEFT + PLOT + 12}" y="{y + 4.5:.1f}" fill="{MUTED}">{row.regret.mean:.4f}</text>'


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _key() -> Iterator[str]:
    words = {"better": "better than uniform", UNDECIDED: UNDECIDED, "worse": "worse", "-": "uniform"}
    place = LEFT
    for word, text in words.items():
        yield f'<circle cx="{place}" cy="46" r="4.5" fill="{COLOURS[word]}"/>'
        yield f'<text x="{place + 10}" y="50.5" fill="{MUTED}" font-size="12">{text}</text>'
        place += 26 + round(6.6 * len(text))
    yield f'<text x="{place + 4}" y="50.5" fill="{MUTED}" font-size="12">hollow: does not learn</text>'
