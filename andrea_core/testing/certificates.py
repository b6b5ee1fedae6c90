"""Checks that prove weights legal and projections optimal without a reference solver; they raise AssertionError."""

import math

import numpy as np

from andrea_core.simplex import Region
from andrea_core.values import Vector


def assert_member(region: Region, w: Vector) -> None:
    """Assert the numerical contract for w (K,): stated and effective bounds bitwise, +0.0 where excluded, exact sum."""
    assert w.shape == region.lower.shape, f"shape {w.shape}"
    assert np.isfinite(w).all(), f"not finite: {w}"
    assert (w >= region.stated.lower).all(), f"below a stated floor: {w}"
    assert (w <= region.stated.upper).all(), f"above a stated cap: {w}"
    assert not np.signbit(w).any(), f"a negative zero or weight: {w}"
    assert region.check(w) == []
    total = math.fsum(w.tolist())
    assert total == (region.total if region.is_point else 1.0), f"the exact sum is {total!r}"


def assert_nearest(region: Region, v: Vector, w: Vector) -> None:
    """Assert the variational inequality <v - w, x - w> <= 0 for all x of the region, which certifies the nearest point.

    The worst x is a vertex in the direction v - w, so that one linear maximisation proves optimality. The slack is a
    few roundings of the spread of v: moving w by 1e-16 changes the inequality by no more.
    """
    pull = v - w
    movable = region.upper > region.lower
    if not movable.any():
        return
    pull = np.where(movable, pull - np.median(pull[movable]), 0.0)
    gap = math.fsum((pull * (region.vertex(pull) - w)).tolist())
    spread = float(np.abs(pull).max())
    slack = 4e-16 * len(w) * (1.0 + spread)
    assert gap <= slack, f"a vertex is nearer in direction: gap {gap:.3g}, slack {slack:.3g}"


def assert_kl_nearest(region: Region, p: Vector, w: Vector) -> None:
    """Assert that w is clip(c p, lower, upper) for one c, p > 0: the optimality condition of every f-divergence."""
    ratio = w / p
    low = float((ratio[w > region.lower]).max(initial=0.0))
    high = float((ratio[w < region.upper]).min(initial=math.inf))
    if low <= high:
        return
    # Up to the last units moved to the exact sum, c p must fit between the bounds for some c between the two ratios.
    errors = [np.abs(np.clip(c * p, region.lower, region.upper) - w).max() for c in np.linspace(high, low, 33)]
    assert min(errors) <= 4e-16 * len(w), f"no common factor: off by {min(errors):.3g}"
