"""Exact rational references: the projection by sorting breakpoints, the volume by inclusion and exclusion."""

import math
from fractions import Fraction

import numpy as np

from andrea_core.simplex import Region


def projection(v: np.ndarray, region: Region) -> list[Fraction]:
    """Return the Euclidean projection of v (K,) without any rounding."""
    x, low, high = ([Fraction(float(a)) for a in values] for values in (v, region.lower, region.upper))
    total = sum(high) - 1  # what has to go when theta rises from minus infinity
    turns = sorted(
        [(a - b, 1) for a, b in zip(x, high, strict=True)] + [(a - b, -1) for a, b in zip(x, low, strict=True)]
    )
    slope, theta = 0, turns[0][0]
    for point, change in turns:
        step = (point - theta) * slope
        if slope and step >= total:
            theta += total / slope
            break
        total -= step
        theta, slope = point, slope + change
    return [min(max(a - theta, b), c) for a, b, c in zip(x, low, high, strict=True)]


def error(w: np.ndarray, exact: list[Fraction]) -> float:
    return float(max(abs(Fraction(float(a)) - b) for a, b in zip(w, exact, strict=True)))


def log_volume_fraction(region: Region) -> float:
    """Return the log of the region's part of the simplex over its sources, for n up to about 16, exact up to the log.

    The floors scale the simplex by R^(n-1); each set of caps that is exceeded takes (R - sum of its widths)^(n-1) away
    or gives it back in turn.
    """
    low, high = ([Fraction(float(a)) for a in values] for values in (region.stated.lower, region.stated.upper))
    mass = 1 - sum(low)
    sums = [(Fraction(0), 1)]
    for width in (b - a for a, b in zip(low, high, strict=True)):
        sums += [(s + width, -sign) for s, sign in sums if s + width < mass]
    fraction = sum(sign * (mass - s) ** (len(low) - 1) for s, sign in sums)
    return math.log(fraction.numerator) - math.log(fraction.denominator)
