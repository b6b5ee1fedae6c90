"""Rank correlation of paired numbers, with an interval for one, and a mean with its error for several."""

import math

import numpy as np

from andrea_core import Vector

NORMAL = 1.959963984540054
"""The 97.5 % point of the standard normal distribution."""


def ranks(values: Vector) -> Vector:
    """Return the ranks (n,) of values, from 1; equal ones share the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[place.reshape(-1)])


def rank_correlation(one: Vector, other: Vector) -> float:
    """Return Spearman's correlation of paired values (n,): Pearson's of their ranks; NaN where either has no spread."""
    a, b = (ranks(values) - (len(values) + 1) / 2 for values in (one, other))
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size else math.nan


def interval(found: float, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a rank correlation of so many pairs; NaN twice where there is none.

    By Fisher's z with the variance (1 + r^2 / 2) / (n - 3) of Bonett and Wright (Psychometrika 65, 2000). A perfect
    correlation counts as the nearest that is not, one swap of neighbours away: an interval of one point says too much.
    """
    if not math.isfinite(found) or count < 4:
        return math.nan, math.nan
    largest = 1 - 12 / (count * (count**2 - 1))
    centre = math.atanh(max(-largest, min(largest, found)))
    reach = NORMAL * math.sqrt((1 + found**2 / 2) / (count - 3))
    low, high = math.tanh(centre - reach), math.tanh(centre + reach)
    return min(low, found), max(high, found)


def mean_and_error(values: Vector) -> tuple[float, float]:
    """Return the mean of independent values (n,) and its standard error, NaN for fewer than two."""
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(values.mean()), error
