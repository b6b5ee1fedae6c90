"""Critical sharpness: how far along an update the loss stays below where it began, found with forward passes alone."""

from collections.abc import Callable

import attrs

from andrea_core.landscape.budget import NONFINITE, NOT_CONVERGED, OK, OVER_BUDGET, UNBOUNDED, UNDETERMINED, Budget

Line = Callable[[float], float]
"""The loss at a multiple of the update."""

NARROWINGS = 30
"""Steps of the false position, which needs one on a quadratic and seldom more than five."""


@attrs.frozen
class Crossing:
    """The least found multiple s > 0 of an update at which the loss is back at its start, L(s) = L(0)."""

    scale: float
    status: str


def crossing(line: Line, *, tolerance: float, furthest: float, budget: Budget) -> Crossing:
    """Return where the loss along an update comes back to its start (arXiv 2601.16979).

    From the update itself (s = 1) the multiple is doubled, or halved, until the loss has risen above its start, or
    fallen below; in that bracket the mean slope (L(s) - L(0)) / s, which is linear on a quadratic, is brought to 0 by
    false position (Illinois), to `tolerance` relative. Status: `unbounded` when the loss falls as far as `furthest`,
    `undetermined` when it rises from the start; then the scale is infinite, or 0.
    """
    if not budget.take():
        return Crossing(float("nan"), OVER_BUDGET)
    start = line(0.0)

    def slope(scale: float) -> float | None:
        return (line(scale) - start) / scale if budget.take() else None

    return _search(slope, tolerance, furthest)


def _search(slope: Callable[[float], float | None], tolerance: float, furthest: float) -> Crossing:
    here, rise = 1.0, slope(1.0)
    factor = 2.0 if rise is not None and rise < 0 else 0.5
    while True:
        if rise is None:
            return Crossing(float("nan"), OVER_BUDGET)
        if rise != rise or (rise == float("inf") and factor == 2.0):
            return Crossing(float("nan"), NONFINITE)
        there = here * factor
        if there > furthest:
            return Crossing(float("inf"), UNBOUNDED)
        if there < 1 / furthest:
            return Crossing(0.0, UNDETERMINED)
        other = slope(there)
        if other is not None and (other < 0) != (rise < 0):
            pairs = sorted([(here, rise), (there, other)])
            return _narrowed(slope, pairs[0], pairs[1], tolerance)
        here, rise = there, other


def _narrowed(
    slope: Callable[[float], float | None], low: tuple[float, float], high: tuple[float, float], tolerance: float
) -> Crossing:
    """Return the zero between a point of negative slope and one of positive slope."""
    (a, fa), (b, fb) = low, high
    last, side = float("inf"), 0
    for _ in range(NARROWINGS):
        middle = (a + b) / 2 if fb == float("inf") else (a * fb - b * fa) / (fb - fa)
        if abs(middle - last) <= tolerance * middle:
            return Crossing(middle, OK)
        found = slope(middle)
        if found is None:
            return Crossing(middle, OVER_BUDGET)
        if found != found:
            return Crossing(float("nan"), NONFINITE)
        last = middle
        if found < 0:
            a, fa, fb, side = middle, found, fb / 2 if side == -1 else fb, -1
        else:
            b, fb, fa, side = middle, found, fa / 2 if side == 1 else fa, 1
    return Crossing(last, NOT_CONVERGED)
