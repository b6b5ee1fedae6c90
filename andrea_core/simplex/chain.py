"""Uniform draws for many sources: half of the tilted variance is drawn and accepted at a time."""

import math

import attrs
import numpy as np
from numpy.random import Generator

from andrea_core.simplex import tilt
from andrea_core.simplex.box import seal
from andrea_core.simplex.fourier import Widths, characteristic, last
from andrea_core.simplex.narrow import Complex
from andrea_core.values import Vector

LAST = 24
"""The chain hands over to plain tilted rejection at this many coordinates."""
_POINTS = 4096
_TERMS = 2048
_SIGMAS = 40.0
_ROWS = 256
"""Rows worked on at once, few enough to stay in the cache."""
_ENVELOPE = 1.0 + 1e-7
_NEGLIGIBLE = 32.0
"""Terms below exp(-32), some 1e-14, are left out."""


@attrs.frozen(eq=False)
class Density:
    """The density of a tilted sum, relative to its maximum, on a grid from `start` in steps of `step`; 0 outside."""

    start: float
    step: float
    values: Vector

    def __attrs_post_init__(self) -> None:
        seal(self.values)

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
    variance = tilt.variances(u, theta)
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
    widths = Widths.of(u)
    mean, sigma = float(tilt.means(u, theta).sum()), math.sqrt(float(tilt.variances(u, theta).sum()))
    start = max(0.0, mean - _SIGMAS / 2.0 * sigma)
    period = min(float(u.sum()), mean + _SIGMAS * sigma) - start
    step = 2.0 * math.pi / period
    terms = math.ceil(last(widths, theta, step * _TERMS, _NEGLIGIBLE) / step)
    if terms >= _TERMS:
        return None
    return _from_series(characteristic(widths, theta, np.arange(terms, dtype=np.float64) * step), start, period)


def _from_series(factors: Complex, start: float, period: float) -> Density:
    """Sum the series on the grid by a Fourier transform and scale its maximum to just below 1."""
    turns = np.exp(-2j * math.pi * start / period * np.arange(len(factors)))
    turned = factors * turns
    turned[0] *= 0.5
    values = np.maximum(np.fft.fft(turned, _POINTS).real, 0.0)
    return Density(start, period / _POINTS, np.append(values, values[0]) / (values.max() * _ENVELOPE))


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
