"""Log of the fraction of the simplex that a region fills, with a bound on its error."""

import math

import attrs
import numpy as np

from andrea_core.simplex import rational, tilt
from andrea_core.simplex.box import exact_sum
from andrea_core.simplex.fourier import MOST, Series, Widths, series
from andrea_core.simplex.slices import Slice, steady
from andrea_core.values import Mask, Vector

NARROW = 1e-6
"""Widths below this share of the widest may be replaced by their mean and variance where a series gets too long."""
_FAR = 4.0
"""How many standard deviations of the narrow sum the density is looked at to either side."""


@attrs.frozen
class LogVolume:
    """The log of the fraction `value`, a bound `error` on its absolute error, and how it was found.

    The fraction is that of the simplex over the free sources, which has the region's `dimension`; sources without room
    do not count. Where sums of sources are fixed, each of them has a simplex of its own, and the fraction is that of
    their product. `method` is "point" (value 0: the whole of a simplex of dimension 0), "exact" (rationals), "fourier",
    "quadrature" (over the totals of groups), or "draws": an estimate, of which `error` is the standard error.
    """

    value: float
    error: float
    method: str
    dimension: int

    @property
    def approximate(self) -> bool:
        """Whether the value is an estimate from random draws."""
        return self.method == "draws"

    def __float__(self) -> float:
        """Return `value`."""
        return self.value


def log_fraction(region: Slice) -> LogVolume:
    """Return the log volume fraction: exact rationals for few coordinates, the tilted Fourier series otherwise."""
    m = len(region.u)
    if m < 2:
        return LogVolume(0.0, 0.0, "point", 0)
    if m <= rational.MOST:
        value = rational.log_ratio(*rational.volume(rational.Scaled.of(region)))
        return LogVolume(value + 0.0, 2.0**-50 * abs(value), "exact", m - 1)
    value, error = by_series(region.u, region.mass, region.theta)
    return LogVolume(min(value, 0.0), error, "fourier", m - 1)


def by_series(u: Vector, mass: float, theta: float) -> tuple[float, float]:
    """Return log ((m-1)! prod(u) f(mass)), f the density of a sum of uniforms on [0, u], and a bound on its error.

    With M the tilted masses and g the density of the tilted sum, prod(u) f(mass) = prod(M) exp(theta mass) g(mass).
    """
    narrow = u < NARROW * u.max()
    found = series(Widths.of(u), theta, mass)
    if narrow.any() and found.terms == MOST:
        return _without(u, narrow, mass)
    return _scaled(u, found)


def _scaled(u: Vector, found: Series) -> tuple[float, float]:
    """Return the log fraction from the density of the tilted sum; all lengths in units of the mass lest digits go."""
    density, error = found.density()
    if not density > 0.0 or error >= 1.0:
        return math.nan, math.inf
    m, mass, theta = len(u), found.mass, found.theta
    logs = (tilt.log_mass(theta * mass, u / mass)).tolist()
    parts = [*logs, math.lgamma(m), theta * mass, (m - 1) * math.log(mass), math.log(density * mass)]
    rounding = 2.0**-52 * (m + 2.0 * sum(abs(part) for part in parts[-4:]) + 2.0 * sum(abs(log) for log in logs))
    return math.fsum(parts), -math.log1p(-error) + rounding


def _without(u: Vector, narrow: Mask, mass: float) -> tuple[float, float]:
    """Return the log fraction with the narrow widths averaged out: their sum counts by its mean and its variance.

    prod(u) f(mass) is prod(narrow u) times the mean of the wide ones' value at mass - y, y the uniform narrow sum: a
    three-point rule, whose whole correction, fourfold, is the error stated (a kink of a piecewise density included).
    """
    wide, thin = u[~narrow], u[narrow]
    sigma = math.sqrt(float((thin * thin).sum()) / 12.0)
    rest = mass - 0.5 * float(thin.sum())
    value, error = log_slice(wide, rest)
    sides = [log_slice(wide, rest + shift)[0] - value for shift in (-_FAR * sigma, _FAR * sigma)]
    bend = (math.expm1(sides[0]) + math.expm1(sides[1])) / (2.0 * _FAR**2)
    parts = [value, math.lgamma(len(u)), -math.lgamma(len(wide)), math.log1p(bend), *np.log(thin).tolist()]
    rounding = 2.0**-51 * sum(abs(part) for part in parts)
    return math.fsum(parts), error + rounding + 4.0 * abs(bend) + 1e-12


def log_slice(u: Vector, mass: float) -> tuple[float, float]:
    """Return the log fraction of the slice { x : sum x = mass, 0 <= x <= u } of any mass, and its error.

    The fraction is of the simplex of side 1.
    """
    mass = min(mass, exact_sum(u) - mass)
    if len(u) < 2:
        return 0.0, 0.0
    if len(u) > rational.MOST:
        return by_series(u, mass, steady(u, mass))
    top, bottom = rational.volume(rational.Scaled.of_widths(u, mass))
    if top <= 0:
        return -math.inf, 0.0
    value = math.log(top / bottom)
    return value, 2.0**-50 * abs(value)
