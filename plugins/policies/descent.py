"""Minimises a smooth function on a region: projected gradient steps with spectral lengths and a line search."""

from collections.abc import Callable

import numpy as np

from andrea_core import Region, Vector

Slope = Callable[[Vector], tuple[float, Vector]]
"""A function of weights (K,) that returns its value and its gradient (K,)."""

ARMIJO, SHORTEST = 1e-4, 1e-12


def minimiser(function: Slope, region: Region, start: Vector, rounds: int = 500, tolerance: float = 1e-10) -> Vector:
    """Return the point of the region where a convex function is least, from a start in it; (K,).

    Spectral projected gradient (Birgin, Martinez, Raydan 2000), monotone: the step is the Barzilai-Borwein length, the
    direction goes to the projection of that step, an Armijo search halves it. It ends after `rounds`, or when the
    projected step of length 1 is shorter than `tolerance`.
    """
    point = start
    value, gradient = function(point)
    length = 1.0 / max(float(np.abs(gradient).max()), 1e-12)
    for _ in range(rounds):
        direction = region.project(point - length * gradient) - point
        if float(np.abs(region.project(point - gradient) - point).max()) < tolerance:
            break
        reached = _searched(function, point, value, gradient, direction)
        if reached is None:
            break
        moved, value, after = reached
        step, bend = moved - point, after - gradient
        curvature = float(step @ bend)
        length = float(np.clip(step @ step / curvature, 1e-10, 1e10)) if curvature > 0 else 1e3 * length
        point, gradient = moved, after
    return region.project(point)


def _searched(
    function: Slope, point: Vector, value: float, gradient: Vector, direction: Vector
) -> tuple[Vector, float, Vector] | None:
    """Return the first point along a direction that is low enough, its value and its gradient; None without one."""
    descent = float(gradient @ direction)
    share = 1.0
    while share > SHORTEST and descent < 0:
        moved = point + share * direction
        found, after = function(moved)
        if found <= value + ARMIJO * share * descent:
            return moved, found, after
        share /= 2
    return None


def divergence(weights: Vector, prior: Vector) -> tuple[float, Vector]:
    """Return KL(weights || prior) and its gradient (K,); entries under 1e-12 count as that."""
    ratio = np.log(np.maximum(weights, 1e-12)) - np.log(np.maximum(prior, 1e-12))
    return float(weights @ ratio), ratio + 1.0
