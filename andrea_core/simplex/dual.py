"""The scalar dual of a projection: the neighbouring breakpoints between which the clipped sum is right."""

from collections.abc import Callable
from typing import Any

import numpy as np

from andrea_core.simplex.box import Box
from andrea_core.values import Vector

Link = Callable[[Any], Any]
"""How a coordinate follows from x - theta before it is clipped: the identity (Euclidean) or exp (Kullback-Leibler)."""


def identity(x: Any) -> Any:
    """Return x itself."""
    return x


def bracket(x: Vector, starts: Vector, ends: Vector, box: Box, link: Link) -> tuple[float, float]:
    """Return neighbouring breakpoints (left, right) between which sum clip(link(x - theta)) passes the total.

    Coordinate i stands at its upper bound for theta <= starts[i], at its lower bound for theta >= ends[i]. Each
    candidate is summed afresh: running sums over sorted breakpoints lose digits (2e-14 at a thousand coordinates).
    """
    points = np.concatenate((starts, ends))
    points.sort()
    first, last = 0, len(points) - 1
    while last - first > 1:
        middle = (first + last) // 2
        if np.minimum(np.maximum(link(x - points[middle]), box.lower), box.upper).sum() >= box.total:
            first = middle
        else:
            last = middle
    return float(points[first]), float(points[last])


def bracket_rows(x: Vector, starts: Vector, ends: Vector, box: Box, link: Link) -> tuple[Vector, Vector]:
    """Return what `bracket` returns for every row of x, starts, ends (N, K), as columns (N, 1)."""
    points = np.sort(np.concatenate((starts, ends), axis=1), axis=1)
    row = np.arange(len(x))
    first, last = np.zeros(len(x), np.int64), np.full(len(x), points.shape[1] - 1)
    for _ in range(points.shape[1].bit_length()):
        middle = (first + last) // 2
        sums = box.clip(link(x - points[row, middle][:, None])).sum(axis=1)
        first = np.where(sums >= box.total, middle, first)
        last = np.where(sums >= box.total, last, np.maximum(middle, first + 1))
    return points[row, first][:, None], points[row, last][:, None]
