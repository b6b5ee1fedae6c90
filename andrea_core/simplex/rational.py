"""Volume and moments of a region in exact rational arithmetic, by inclusion and exclusion of the caps."""

import math
from collections.abc import Iterator

import attrs
import numpy as np

from andrea_core.simplex.slices import Slice
from andrea_core.values import Vector

MOST = 12
"""Most free coordinates for which the volume goes by 2**m terms."""
MOST_MOMENTS = 10
"""The same for moments, whose terms cost more; above it the Fourier series is as exact in float64, and faster."""


@attrs.frozen
class Scaled:
    """A slice in whole numbers: widths u (m,) and mass, in units of 1 / `unit`.

    Its offsets count from the stated lower bounds, or from the upper ones downwards if those leave less mass.
    """

    u: tuple[int, ...]
    mass: int
    unit: int
    mirrored: bool = False

    @classmethod
    def of(cls, region: Slice) -> "Scaled":
        """Return the slice of the stated bounds, every float taken at its exact value."""
        lower, upper, pinned = (_ratios(values) for values in (region.lower, region.upper, region.pinned))
        unit = max(ratio[1] for ratio in (*lower, *upper, *pinned, (1, 1)))
        low, high, rest = ([top * (unit // bottom) for top, bottom in part] for part in (lower, upper, pinned))
        above, below = unit - sum(rest) - sum(low), sum(high) + sum(rest) - unit
        return cls(tuple(b - a for a, b in zip(low, high, strict=True)), min(above, below), unit, below < above)

    @classmethod
    def of_widths(cls, u: Vector, mass: float) -> "Scaled":
        """Return the slice of widths u (m,) that are taken as exact themselves."""
        ratios = _ratios(np.append(u, mass))
        unit = max(bottom for _, bottom in ratios)
        *widths, total = (top * (unit // bottom) for top, bottom in ratios)
        return cls(tuple(widths), total, unit)


def _ratios(values: Vector) -> list[tuple[int, int]]:
    return [float(value).as_integer_ratio() for value in values]


def volume(scaled: Scaled) -> tuple[int, int]:
    """Return the fraction of the simplex as a ratio of whole numbers: sum over subsets S of (-1)^|S| (R - u_S)_+^(m-1).

    Source: inclusion and exclusion over the caps of a simplex of side R; subsets that overfill R are pruned.
    """
    power = len(scaled.u) - 1
    return _alternating(scaled, power), scaled.unit**power


def slope(scaled: Scaled) -> float:
    """Return the derivative of the log volume by the mass."""
    power = len(scaled.u) - 1
    return power * scaled.unit * _alternating(scaled, power - 1) / _alternating(scaled, power)


def _alternating(scaled: Scaled, power: int) -> int:
    even, odd = [scaled.mass], list[int]()
    for width in scaled.u:
        even, odd = (
            even + [rest - width for rest in odd if rest > width],
            odd + [rest - width for rest in even if rest > width],
        )
    total: int = sum(rest**power for rest in even) - sum(rest**power for rest in odd)
    return total


def log_ratio(top: int, bottom: int) -> float:
    """Return log(top / bottom) for 0 < top <= bottom, to a few units in the last place also where it is near 0."""
    ratio = top / bottom
    return math.log(ratio) if ratio < 0.5 else math.log1p(-((bottom - top) / bottom))


@attrs.frozen
class _Sums:
    """Signed sums of powers over subsets: of all, of those with i, of those with i and j; by power above m - 1."""

    volume: int
    first: int
    second: int
    with_one: list[int]
    with_one_first: list[int]
    with_two: dict[tuple[int, int], int]


def _subsets(scaled: Scaled) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield each subset of widths that does not fill the mass, with the mass that it leaves."""
    waiting: list[tuple[tuple[int, ...], int]] = [((), scaled.mass)]
    while waiting:
        members, rest = waiting.pop()
        yield members, rest
        for i in range(members[-1] + 1 if members else 0, len(scaled.u)):
            if rest > scaled.u[i]:
                waiting.append(((*members, i), rest - scaled.u[i]))


def _sums(scaled: Scaled) -> _Sums:
    m = len(scaled.u)
    volume = first = second = 0
    one, one_first = [0] * m, [0] * m
    two: dict[tuple[int, int], int] = {(i, j): 0 for j in range(m) for i in range(j)}
    for members, rest in _subsets(scaled):
        term = -(rest ** (m - 1)) if len(members) % 2 else rest ** (m - 1)
        higher = term * rest
        volume, first, second = volume + term, first + higher, second + higher * rest
        for place, j in enumerate(members):
            one[j] += term
            one_first[j] += higher
            for i in members[:place]:
                two[i, j] += term
    return _Sums(volume, first, second, one, one_first, two)


def moments(scaled: Scaled) -> tuple[Vector, Vector]:
    """Return mean (m,) and covariance (m, m) of the offsets, each entry correctly rounded.

    Source: the Laplace transforms of x and x**2 on [0, u] in place of that of 1, inverted term by term; with A the
    volume's sum and B, C its powers m and m + 1, E[x_i] A = B / m + u_i A_i and
    E[x_i x_j] A = C / (m (m + 1)) + (u_i B_i + u_j B_j) / m + u_i u_j A_ij, C and u_i u_i A_i doubled where i = j.
    """
    sums, u, m = _sums(scaled), scaled.u, len(scaled.u)
    means = [sums.first + m * u[i] * sums.with_one[i] for i in range(m)]
    mean_bottom = m * sums.volume
    mixed = [(m + 1) * u[i] * sums.with_one_first[i] for i in range(m)]
    pair_factor = m * (m + 1)

    def product(i: int, j: int) -> int:
        if i == j:
            return 2 * (sums.second + mixed[i]) + pair_factor * u[i] * u[i] * sums.with_one[i]
        return sums.second + mixed[i] + mixed[j] + pair_factor * u[i] * u[j] * sums.with_two[i, j]

    covariance = np.empty((m, m))
    bottom = mean_bottom * mean_bottom * (m + 1) * scaled.unit**2
    for j in range(m):
        for i in range(j + 1):
            top = product(i, j) * m * sums.volume - (m + 1) * means[i] * means[j]
            covariance[i, j] = covariance[j, i] = top / bottom
    return np.array([top / (mean_bottom * scaled.unit) for top in means]), covariance
