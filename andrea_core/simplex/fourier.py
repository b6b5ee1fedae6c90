"""Fourier series of the density of a tilted sum: characteristic function, period, number of terms, error."""

import math
from collections.abc import Iterator

import attrs
import numpy as np

from andrea_core.simplex import narrow, tilt
from andrea_core.simplex.narrow import Complex
from andrea_core.values import Integers, Vector

BLOCK = 2**16
"""Numbers worked on at once, few enough to stay in the cache."""
ROOM = 2**21
"""Most complex numbers held for one block of terms."""
MOST = 2**20
"""Most terms of a series; past them the error bound grows instead."""
NEGLIGIBLE = 41.0
"""Terms and copies of the density below exp(-41), some 1.6e-18 of the sum, are left out."""


@attrs.frozen(eq=False)
class Widths:
    """Widths u (m,) gathered into distinct values (d,) with their counts; `place` (m,) leads back."""

    values: Vector
    counts: Integers
    place: Integers

    @classmethod
    def of(cls, u: Vector) -> "Widths":
        """Gather equal widths: most sources of a region share their bounds."""
        values, place, counts = np.unique(u, return_inverse=True, return_counts=True)
        return cls(values, counts.astype(np.int64), place)

    def narrow(self, theta: float, t: float) -> int:
        """Return how many of the distinct widths are narrow for every frequency up to t."""
        return int(np.searchsorted(self.values, narrow.LIMIT / math.hypot(theta, t)))


def characteristic(u: Widths, theta: float, t: Vector) -> Complex:
    """Return the characteristic function at rising t (T,) of the tilted sum: E[exp(i t x)], over all widths."""
    cut = u.narrow(theta, float(t[-1]))
    product = narrow.product(u.values[:cut], u.counts[:cut], theta, tilts(theta, t))
    rows = max(1, BLOCK // len(t))
    for first in range(cut, len(u.values), rows):
        found, counts = factors(u.values[first : first + rows], theta, t), u.counts[first : first + rows]
        repeated = counts > 1
        found[repeated] **= counts[repeated, None]
        product *= np.prod(found, axis=0)
    return product


def tilts(theta: float, t: Vector) -> Complex:
    """Return theta - i t, the complex tilt at each frequency t (T,)."""
    return np.asarray(theta - 1j * t, dtype=np.complex128)


def factors(u: Vector, theta: float, t: Vector) -> Complex:
    """Return (1 - exp(-(theta - i t) u)) / ((theta - i t) M) for each width (m, T), by half angles lest it cancel."""
    half = np.multiply.outer(0.5 * u, t)
    sine = np.sin(half)
    fall, mass = np.exp(-theta * u)[:, None], -np.expm1(-theta * u)[:, None]
    found = np.empty(half.shape, dtype=np.complex128)
    found.real = mass + 2.0 * fall * sine * sine
    found.imag = -2.0 * fall * sine * np.cos(half)
    found /= (1.0 - 1j * t / theta) * mass
    return found


def envelope(u: Widths, theta: float, t: float) -> float:
    """Return the log of a falling bound on the characteristic function's size: exact to t u = pi, a power beyond."""
    sine = np.sin(np.minimum(0.5 * t * u.values, 0.5 * math.pi))
    fall, mass = np.exp(-theta * u.values), -np.expm1(-theta * u.values)
    squares = np.log1p(4.0 * fall * (sine / mass) ** 2) - math.log1p((t / theta) ** 2)
    return 0.5 * float(u.counts @ squares)


@attrs.frozen(eq=False)
class Series:
    """The density of a tilted sum at `mass` as the real part of a sum of `terms` characteristic values.

    They are taken in steps of `step`, so that the density repeats itself with the period 2 pi / step. `tail` bounds
    what the left-out terms add to the density.
    """

    u: Widths
    theta: float
    mass: float
    step: float
    terms: int
    tail: float

    def blocks(self, width: int) -> Iterator[tuple[Vector, Complex]]:
        """Yield t (B,) and the terms exp(-i t mass) E[exp(i t x)] step / pi, B times width numbers at a time.

        The blocks double in length, so that many widths are narrow for the early ones.
        """
        first = 0
        while first < self.terms:
            until = min(self.terms, max(64, 2 * first), first + min(4096, max(16, ROOM // width)))
            t = np.arange(first, until, dtype=np.float64) * self.step
            terms = characteristic(self.u, self.theta, t) * np.exp(-1j * self.mass * t) * (self.step / math.pi)
            if first == 0:
                terms[0] *= 0.5
            yield t, terms
            first = until

    def density(self) -> tuple[float, float]:
        """Return the density at `mass` and a bound on its relative error."""
        blocks = [terms for _, terms in self.blocks(1)]
        value = math.fsum(float(terms.real.sum()) for terms in blocks)
        absolute = sum(float(np.abs(terms).sum()) for terms in blocks)
        turns = 2.0**-52 * (4.0 * float(self.u.counts.sum()) + self.mass * 6.0 * value)
        return value, (self.tail + turns * absolute) / value + math.exp(1.0 - NEGLIGIBLE)


def series(u: Widths, theta: float, mass: float, negligible: float = NEGLIGIBLE) -> Series:
    """Return the series of the density at `mass` of the sum over widths u, tilted by theta > 0 to about that mean.

    Terms below exp(-negligible) are left out, and those past MOST.
    """
    step = 2.0 * math.pi / _period(u, theta, mass)
    terms = min(MOST, math.ceil(last(u, theta, step * MOST, negligible) / step) + 1)
    return Series(u, theta, mass, step, terms, _tail(u, theta, step, terms))


def _period(u: Widths, theta: float, mass: float) -> float:
    """Return the support, or a shorter period whose copies of the density weigh less than rounding at `mass`.

    A tilted density at y is at most exp(-d y) Z(theta - d) / Z(theta) times the largest one under the tilt theta - d,
    for every d (Chernoff's bound): positive d bound it to the right of the mean, negative ones to the left.
    """
    counts, sigma = u.counts, math.sqrt(float(u.counts @ tilt.variances(u.values, theta)))
    shifts = np.exp2(np.arange(0.0, 6.0, 0.5)) / sigma
    level = float(counts @ tilt.log_mass(theta, u.values)) - math.log(3.0 * sigma) - NEGLIGIBLE

    def reach(shift: float) -> float:
        tilted = theta - shift
        logs = tilt.log_mass(abs(tilted), u.values) + max(0.0, -tilted) * u.values
        peak = -float(tilt.log_mass(abs(tilted), u.values[-1:])[0])
        return (float(counts @ logs) + peak - level) / abs(shift)

    right = min(reach(d) for d in shifts) - mass
    left = mass + min(reach(-d) for d in shifts)
    return min(float(counts @ u.values), max(right, min(left, mass)))


def last(u: Widths, theta: float, most: float, negligible: float) -> float:
    """Return a t from which the terms are negligible, at most `most`, by bisection of the envelope."""
    low, high = math.log(1e-9 * most), math.log(most)
    while high - low > 0.02:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if envelope(u, theta, math.exp(middle)) > -negligible else (low, middle)
    return math.exp(high)


def _tail(u: Widths, theta: float, step: float, terms: int) -> float:
    """Bound the left-out terms: the envelope falls faster than the power that it has at the first of them."""
    t = terms * step
    level, further = envelope(u, theta, t), envelope(u, theta, 1.01 * t)
    power = (level - further) / math.log(1.01)
    return math.exp(level) * (step + t / (power - 1.0)) / math.pi if power > 1.0 else math.inf
