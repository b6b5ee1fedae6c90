"""Exponentially tilted uniforms: moments, the tilt that meets a sum, log masses, draws and rejection."""

import math

import numpy as np
from numpy.random import Generator

from andrea_core.values import Mask, Vector

_SERIES = 0.05
_PASSES = 60


def mean_factor(y: Vector) -> Vector:
    """Return E[x] / u of the density proportional to exp(-theta x) on [0, u], for y = theta u >= 0 (K,)."""
    safe = np.maximum(y, _SERIES)
    series = 0.5 - y / 12.0 + y**3 / 720.0 - y**5 / 30240.0
    with np.errstate(over="ignore"):
        return np.where(y < _SERIES, series, 1.0 / safe - 1.0 / np.expm1(safe))


def variance_factor(y: Vector) -> Vector:
    """Return Var[x] / u**2 of the same density."""
    safe = np.maximum(y, _SERIES)
    series = 1.0 / 12.0 - y**2 / 240.0 + y**4 / 6048.0 - y**6 / 172800.0
    with np.errstate(over="ignore"):
        return np.where(y < _SERIES, series, 1.0 / safe**2 - 0.25 / np.sinh(np.minimum(safe, 1400.0) / 2.0) ** 2)


def means(u: Vector, theta: float) -> Vector:
    """Return E[x] of each tilted coordinate on [0, u], u (m,)."""
    result: Vector = u * mean_factor(theta * u)
    return result


def variances(u: Vector, theta: float) -> Vector:
    """Return Var[x] of each tilted coordinate."""
    result: Vector = u * u * variance_factor(theta * u)
    return result


def log_mass(theta: float, u: Vector) -> Vector:
    """Return log of M_i, the integral of exp(-theta x) over [0, u_i], for theta >= 0."""
    y = theta * u
    safe = np.maximum(y, 1e-300)
    return np.asarray(np.where(y > 0, np.log(-np.expm1(-safe) / safe), 0.0) + np.log(u))


def solve(u: Vector, mass: float) -> float:
    """Return the theta >= 0 under which the tilted sum over widths u (m,) has mean `mass` <= sum(u) / 2.

    Newton on the reciprocal mean, nearly linear in theta, inside the bracket [0, m / mass]. Draws are exact for every
    theta; this one makes the given sum the likeliest.
    """
    low, high, theta = 0.0, len(u) / mass, 0.0
    for _ in range(_PASSES):
        y = theta * u
        mean = float(u @ mean_factor(y))
        if abs(mean - mass) <= 1e-9 * mass:
            break
        low, high = (theta, high) if mean > mass else (low, theta)
        variance = float((u * u) @ variance_factor(y))
        step = theta + (mean - mass) * mean / (mass * variance) if variance > 0 else math.inf
        theta = step if low < step < high else 0.5 * (low + high)
    return theta


def log_density(theta: float, u: Vector) -> float:
    """Return the Gaussian approximation of the log density of the tilted sum at its mean."""
    return -0.5 * math.log(2.0 * math.pi * float(variances(u, theta).sum()))


def draw(u: Vector, theta: float, rng: Generator, count: int) -> Vector:
    """Return independent tilted coordinates (count, m) on [0, u] by inversion, for theta > 0."""
    x = rng.random((count, len(u)))
    x *= np.expm1(-theta * u)
    np.log1p(x, out=x)
    x /= -theta
    return x


def attempt(u: Vector, theta: float, mass: Vector, rng: Generator) -> tuple[Vector, Mask]:
    """Attempt tilted coordinates, the last set to the rest of each row's mass (N,) and thinned by its own density.

    The product of the densities exp(-theta x) is constant where the sum is fixed, so accepted points are uniform.
    """
    x = np.empty((len(mass), len(u)))
    x[:, :-1] = draw(u[:-1], theta, rng, len(mass))
    last = mass - x[:, :-1].sum(axis=1)
    x[:, -1] = last
    inside = (last >= 0.0) & (last <= u[-1])
    return x, np.asarray(inside & (rng.random(len(mass)) < np.exp(-theta * np.maximum(last, 0.0))))
