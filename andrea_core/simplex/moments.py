"""Mean and covariance of the uniform law on a region: exact rationals, or the tilted Fourier series."""

import attrs
import numpy as np

from andrea_core.simplex import rational, tilt
from andrea_core.simplex.box import Box, exact_sum, residual
from andrea_core.simplex.fixup import fix_up
from andrea_core.simplex.fourier import MOST, NEGLIGIBLE, Series, Widths, series, tilts
from andrea_core.simplex.narrow import ORDERS, Complex, Expansion, near_zero
from andrea_core.simplex.slices import Slice, steady
from andrea_core.simplex.volume import NARROW
from andrea_core.values import Mask, Vector

_SMALL = 1.0


@attrs.frozen(eq=False)
class Estimate:
    """A mean (K,) or covariance (K, K) of uniform draws, the standard error of each entry, and how it was found.

    `method` is "point", "exact" (rationals), "fourier", "quadrature" (over the totals of groups), all with an error of
    0 and right to about rounding, or "draws".
    """

    value: Vector
    error: Vector
    method: str

    @property
    def approximate(self) -> bool:
        """Whether the value is an estimate from random draws."""
        return self.method == "draws"

    @classmethod
    def sure(cls, value: Vector, method: str) -> "Estimate":
        """Return a value that no draw went into."""
        return cls(value, np.zeros_like(value), method)


def method_of(region: Slice) -> str:
    """Return how the moments of a slice are found."""
    if len(region.u) < 2:
        return "point"
    return "exact" if len(region.u) <= rational.MOST_MOMENTS else "fourier"


def mean(region: Slice, box: Box) -> Vector:
    """Return the mean (K,) of the uniform law on the region, a legal weight vector."""
    w = np.array(box.lower)
    if len(region.u) > 1:
        w[region.columns] = _moments(region, False)[0]
    return fix_up(w, box)


def covariance(region: Slice, box: Box) -> Vector:
    """Return the covariance (K, K) of the uniform law on the region; 0 for sources without room."""
    whole = np.zeros((len(box.lower), len(box.lower)))
    if len(region.u) > 1:
        whole[np.ix_(region.columns, region.columns)] = _moments(region, True)[1]
    return whole


def _moments(region: Slice, both: bool) -> tuple[Vector, Vector]:
    """Return mean (m,) and covariance (m, m) of the free coordinates; the latter without meaning unless `both`."""
    if len(region.u) <= rational.MOST_MOMENTS:
        scaled = rational.Scaled.of(region)
        offset, pairs = rational.moments(scaled)
        return (region.upper - offset if scaled.mirrored else region.lower + offset), pairs
    offset, pairs = by_series(region.u, region.mass, region.theta, both)
    return region.weights(offset), pairs


def of_slice(u: Vector, mass: float, both: bool) -> tuple[Vector, Vector]:
    """Return mean (m,) and covariance (m, m) on { x : sum x = mass, 0 <= x <= u } for 2 mass <= sum(u), u <= mass."""
    if len(u) < 2:
        return np.full(len(u), mass), np.zeros((len(u), len(u)))
    if len(u) <= rational.MOST_MOMENTS:
        return rational.moments(rational.Scaled.of_widths(u, mass))
    return by_series(u, mass, steady(u, mass), both)


def by_series(u: Vector, mass: float, theta: float, both: bool) -> tuple[Vector, Vector]:
    """Return the moments of offsets of widths u (m,) from the Fourier series, the mean summing to the mass.

    Widths below a millionth of the widest take their tilted moments where they would make the series too long.
    """
    # Next to a pole a tilted mean undoes one factor of the characteristic function, a product of two undoes two.
    found = series(Widths.of(u), theta, mass, NEGLIGIBLE * len(u) / (len(u) - 2))
    narrow = u < NARROW * u.max()
    if narrow.any() and found.terms == MOST:
        return _without(u, narrow, mass, theta, both)
    sums = _summed(found, both)
    place = found.u.place
    offset = sums.mean[place]
    offset += residual(mass, offset) * (sums.variance / float(sums.variance @ found.u.counts))[place]
    if not both:
        return offset, np.empty((0, 0))
    pairs = sums.pairs[np.ix_(place, place)]
    pairs[np.diag_indices(len(u))] += sums.variance[place]
    return offset, pairs


@attrs.frozen(eq=False)
class _Sums:
    """By distinct width (d,): mean, variance at a given frequency averaged; covariance (d, d) of two coordinates."""

    mean: Vector
    variance: Vector
    pairs: Vector


def _summed(found: Series, both: bool) -> _Sums:
    """Sum the series with the complex-tilted means and variances as weights, about the real-tilted means."""
    u, theta = found.u.values, found.theta
    start = tilt.means(u, theta)
    density, shift, variance = 0.0, np.zeros(len(u)), np.zeros(len(u))
    pairs = np.zeros((len(u), len(u)) if both else (0, 0))
    for t, terms in found.blocks(len(u)):
        density += float(terms.real.sum())
        cut = found.u.narrow(theta, float(t[-1]))
        cut = cut if cut > ORDERS else 0
        flat = Expansion.of(u[:cut], theta, tilts(theta, t))
        means, variances = _tilted(u[cut:], theta, t)
        rows = np.concatenate([flat.odd, means - start[cut:, None]])
        weighted = rows * terms
        shift += flat.spread(weighted.real.sum(axis=1))
        variance[:cut] += flat.variance @ (flat.even * terms).real.sum(axis=1)
        variance[cut:] += (variances * terms).real.sum(axis=1)
        if both:
            products = weighted.real @ rows.real.T - weighted.imag @ rows.imag.T
            pairs += flat.spread(flat.spread(products).T)
    shift /= density
    if both:
        pairs = (pairs + pairs.T) / (2.0 * density) - np.outer(shift, shift)
    return _Sums(start + shift, variance / density, pairs)


def _tilted(u: Vector, theta: float, t: Vector) -> tuple[Complex, Complex]:
    """Return mean and variance (m, T) of the density proportional to exp(-s x) on [0, u], for s = theta - i t.

    With y = s u, q = exp(-y): u (1/y - q/(1-q)) and u**2 (1/y**2 - q/(1-q)**2), or power series where y is small.
    """
    y = np.multiply.outer(u, tilts(theta, t))
    small = np.abs(y) < _SMALL
    inverse = 1.0 / np.where(small, 1.0, y)
    half = np.multiply.outer(0.5 * u, t)
    fall = np.exp(-theta * u)[:, None]
    q = fall * np.exp(2j * half)
    gap = -np.expm1(-theta * u)[:, None] + 2.0 * fall * np.sin(half) * (np.sin(half) - 1j * np.cos(half))
    share = q / gap
    means, variances = inverse - share, inverse * inverse - share / gap
    means[small], variances[small] = near_zero(y[small])
    return u[:, None] * means, (u * u)[:, None] * variances


def _without(u: Vector, narrow: Mask, mass: float, theta: float, both: bool) -> tuple[Vector, Vector]:
    """Return the moments with the narrow widths tilted by the slope of the others' log volume.

    Right to the square of the narrow widths, at most some 1e-12 of the widest: their sum moves the others' mass by its
    mean, and the others' covariance by its variance in proportion to their tilted variances.
    """
    wide, variance = u[~narrow], tilt.variances(u, theta)
    rest = mass - 0.5 * exact_sum(u[narrow])
    scaled = rational.Scaled.of_widths(wide, rest)
    few = len(wide) <= rational.MOST_MOMENTS
    offset = tilt.means(u, rational.slope(scaled) if few else theta)
    rest = mass - exact_sum(offset[narrow])
    if few:
        offset[~narrow], inner = rational.moments(rational.Scaled.of_widths(wide, rest))
    else:
        offset[~narrow], inner = by_series(wide, rest, theta, both)
    if not both:
        return offset, inner
    moved, given = np.where(narrow, 0.0, variance), np.where(narrow, variance, 0.0)
    moved /= moved.sum()
    pairs = np.diag(given) + given.sum() * np.outer(moved, moved)
    pairs -= np.outer(given, moved) + np.outer(moved, given)
    pairs[np.ix_(~narrow, ~narrow)] += inner
    return offset, pairs
