"""Volume of a few coordinates under windows on their group totals, in exact whole numbers."""

import math
from collections.abc import Iterable

import attrs

Spline = dict[tuple[int, int], int]
"""Truncated powers (t - knot)_+**power / power! by (knot, power), with their coefficients."""

MOST_TERMS = 60_000
"""Most terms that are worth multiplying out."""


@attrs.frozen
class Windowed:
    """Widths (m,) of coordinates that share a total, and the window that the total must stay in; whole numbers."""

    u: tuple[int, ...]
    low: int
    high: int


def volume(blocks: Iterable[Windowed], mass: int) -> tuple[int, int] | None:
    """Return (top, bottom) of (m-1)! times the volume of all totals that sum to `mass`, None for too many terms.

    In units of the whole numbers' length: to be divided by unit**(m-1). Source: the slice of a box at total t is a sum
    of truncated powers; so is its part in a window, each truncated power being a Taylor polynomial past an edge; and
    convolving (t - a)_+**p / p! with (t - b)_+**q / q! gives (t - a - b)_+**(p + q + 1) / (p + q + 1)!.
    """
    whole: Spline | None = None
    count, bottom = 0, 1
    for block in blocks:
        part = _spline(block, mass)
        count += len(block.u)
        bottom *= math.factorial(len(block.u) - 1)
        if whole is not None and len(whole) * len(part) > MOST_TERMS:
            return None
        whole = part if whole is None else _convolved(whole, part, mass)
    power = count - 1
    terms = whole.items() if whole else ()
    return sum(c * (mass - k) ** p * math.perm(power, power - p) for (k, p), c in terms), bottom


def _spline(block: Windowed, mass: int) -> Spline:
    """Return (m-1)! times the volume of the slice at each total, 0 outside the window; no knots from `mass` on."""
    power = len(block.u) - 1
    knots = {0: 1}
    for width in block.u:
        shifted = {knot + width: -sign for knot, sign in knots.items() if knot + width < mass}
        for knot, sign in shifted.items():
            knots[knot] = knots.get(knot, 0) + sign
    low, high = max(block.low, 0), min(block.high, mass)
    found: Spline = {}
    for knot, sign in knots.items():
        for edge, side in ((low, 1), (high, -1)):
            if knot < edge < mass:
                _expand(found, knot, sign * side, power, edge)
        if low <= knot < high:
            found[knot, power] = found.get((knot, power), 0) + sign * math.factorial(power)
    return found


def _expand(found: Spline, knot: int, sign: int, power: int, edge: int) -> None:
    """Add (m-1)! times the Taylor polynomial, about an edge, of the truncated power of an earlier knot."""
    for q in range(power + 1):
        value = sign * math.perm(power, q) * (edge - knot) ** (power - q)
        if value:
            found[edge, q] = found.get((edge, q), 0) + value


def _convolved(one: Spline, other: Spline, mass: int) -> Spline:
    found: Spline = {}
    for (a, p), c in one.items():
        for (b, q), d in other.items():
            if a + b < mass:
                key = a + b, p + q + 1
                found[key] = found.get(key, 0) + c * d
    return found
