"""Uniform draws for many sources: half of the tilted variance is drawn and accepted at a time."""

import math

import attrs
import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from andrea_core.simplex import tilt
from andrea_core.values import Vector

Complex = npt.NDArray[np.complex128]
LAST = 24
"""The chain hands over to plain tilted rejection at this many coordinates."""
_POINTS = 4096
_TERMS = (256, 2048)
_SIGMAS = 40.0
_ROWS = 256
"""Rows worked on at once, few enough to stay in the cache."""
_ENVELOPE = 1.0 + 1e-7
_SMALL = 1e-14


@attrs.frozen(eq=False)
class Density:
    """The density of a tilted sum, relative to its maximum, on a grid from `start` in steps of `step`; 0 outside."""

    start: float
    step: float
    values: Vector

    def at(self, s: Vector) -> Vector:
        """Return the relative density at s (N,), by cubic interpolation (error below 1e-9 of the maximum)."""
        place = (s - self.start) / self.step
        inside = (place >= 1.0) & (place <= len(self.values) - 3.0)
        left = np.where(inside, place, 1.0).astype(np.int64)
        t = np.where(inside, place, 1.0) - left
        a, b, c, d = (self.values[left + k] for k in (-1, 0, 1, 2))
        slope, bend = 0.5 * (c - a), a - 2.5 * b + 2.0 * c - 0.5 * d
        cubic = b + t * (slope + t * (bend + t * (0.5 * (d - a) + 1.5 * (b - c))))
        return np.asarray(np.where(inside, np.maximum(cubic, 0.0), 0.0))


@attrs.frozen(eq=False)
class Link:
    """A stretch [first, until) of the coordinates and the density of the sum of all later ones."""

    first: int
    until: int
    rest: Density


def forge(u: Vector, theta: float) -> tuple[Link, ...] | None:
    """Return the links of the chain for widths u (m,), narrowest first; None where a density has no short series."""
    variance = u * u * tilt.variance_factor(theta * u)
    links: list[Link] = []
    first = 0
    while len(u) - first > LAST:
        half = np.searchsorted(np.cumsum(variance[first:]), 0.5 * variance[first:].sum()) + 1
        until = min(first + max(1, int(half)), len(u) - LAST // 2)
        rest = density(u[until:], theta)
        if rest is None:
            return None
        links.append(Link(first, until, rest))
        first = until
    return tuple(links)


def density(u: Vector, theta: float) -> Density | None:
    """Return the density of the tilted sum over widths u (m,) from its Fourier series; None if that has too many terms.

    The series repeats itself beyond the period: the support, or some forty standard deviations if that is shorter. The
    tilted density falls off exponentially, so that the copies overlap by less than rounding.
    """
    mean = float(u @ tilt.mean_factor(theta * u))
    sigma = math.sqrt(float((u * u) @ tilt.variance_factor(theta * u)))
    start = max(0.0, mean - _SIGMAS / 2.0 * sigma)
    period = min(float(u.sum()), mean + _SIGMAS * sigma) - start
    for terms in _TERMS:
        factors = characteristic(u, theta, np.arange(terms, dtype=np.float64) * (2.0 * math.pi / period))
        if (np.abs(factors[-8:]) < _SMALL).all():
            return _from_series(factors, start, period)
    return None


def _from_series(factors: Complex, start: float, period: float) -> Density:
    """Sum the series on the grid by a Fourier transform and scale its maximum to just below 1."""
    turns = np.exp(-2j * math.pi * start / period * np.arange(len(factors)))
    turned = factors * turns
    turned[0] *= 0.5
    values = np.maximum(np.fft.fft(turned, _POINTS).real, 0.0)
    return Density(start, period / _POINTS, np.append(values, values[0]) / (values.max() * _ENVELOPE))


def characteristic(u: Vector, theta: float, t: Vector) -> Complex:
    """Return the characteristic function at t (T,) of the tilted sum over widths u (m,): E[exp(i t x)]."""
    product = np.ones(len(t), dtype=np.complex128)
    for widths in np.array_split(u, -(-len(u) // _ROWS)):
        product *= np.prod(_factors(widths, theta, t), axis=0)
    return product


def _factors(u: Vector, theta: float, t: Vector) -> Complex:
    """Return (1 - exp(-(theta - i t) u)) / ((theta - i t) M) for each width (m, T), by half angles lest it cancel."""
    half = np.multiply.outer(0.5 * u, t)
    sine = np.sin(half)
    fall, mass = np.exp(-theta * u)[:, None], -np.expm1(-theta * u)[:, None]
    factors = np.empty(half.shape, dtype=np.complex128)
    factors.real = mass + 2.0 * fall * sine * sine
    factors.imag = -2.0 * fall * sine * np.cos(half)
    factors /= (1.0 - 1j * t / theta) * mass
    return factors


def draw(links: tuple[Link, ...], u: Vector, theta: float, mass: float, rng: Generator, count: int) -> Vector:
    """Return `count` points (count, m), uniform on { sum x = mass, 0 <= x <= u }.

    Given the sum of a stretch, the later coordinates have density f_rest(what is left) there: accepting a stretch with
    f_rest / max f_rest leaves the joint law uniform, and what follows is the same problem with fewer coordinates.
    """
    whole = np.empty((count, len(u)))
    for first in range(0, count, _ROWS):
        x = whole[first : first + _ROWS]
        left = np.full(len(x), mass)
        for link in links:
            _stretch(x, left, link, u[link.first : link.until], theta, rng)
        _finish(x, left, links[-1].until, u, theta, rng)
    return whole


def _stretch(x: Vector, left: Vector, link: Link, u: Vector, theta: float, rng: Generator) -> None:
    """Fill the columns of a link in every row, and take their sums off what is left."""
    waiting = np.arange(len(x))
    while len(waiting):
        tried = tilt.draw(u, theta, rng, len(waiting))
        rest = left[waiting] - tried.sum(axis=1)
        accepted = rng.random(len(waiting)) < link.rest.at(rest)
        done = waiting[accepted]
        x[done, link.first : link.until] = tried[accepted]
        left[done] = rest[accepted]
        waiting = waiting[~accepted]


def _finish(x: Vector, left: Vector, first: int, u: Vector, theta: float, rng: Generator) -> None:
    """Fill the last columns by plain tilted rejection, each row with its own mass."""
    waiting = np.arange(len(x))
    while len(waiting):
        tried, accepted = tilt.attempt(u[first:], theta, left[waiting], rng)
        x[waiting[accepted], first:] = tried[accepted]
        waiting = waiting[~accepted]
