"""Nearest points and best vertices of a region with group bounds, by the plain ones of its parts."""

from collections.abc import Callable

import numpy as np

from andrea_core.simplex.box import Box, residual
from andrea_core.simplex.groups.box import Groups, Part
from andrea_core.simplex.vertices import best
from andrea_core.values import Integers, Vector

LOW, HIGH = 1, 2

Nearest = Callable[[Vector, Box], Vector]
"""A projection onto a box: of one vector or of rows, Euclidean or under a divergence."""


def nearest(v: Vector, groups: Groups, single: Nearest) -> Vector:
    """Return the point of the set nearest to v (K,), in the sense of the projection `single` onto a box.

    The total of a part depends on the multiplier of the sum alone: what its weights would sum to without a window,
    clipped to the window (nested water-filling). The parts that are clipped are found by fixing (Bitran and Hax 1981):
    project without the windows, look on which side the totals miss them by more in sum, fix the parts that do at that
    edge, for there they stay, and go on with the others.
    """
    w = np.empty_like(v)
    loose, total = list(groups.loose), _left(groups)
    for part in groups.parts:
        if part.is_pinned:
            w[part.members] = single(v[part.members], groups.cut(part.members, part.low))
    while loose:
        members = np.concatenate([part.members for part in loose])
        w[members] = single(v[members], groups.cut(members, total))
        sums = np.array([w[part.members].sum() for part in loose])
        edges = _edges(sums, loose)
        if edges is None:
            break
        for part, edge in zip(loose, edges.tolist(), strict=True):
            if edge == edge:
                w[part.members] = single(v[part.members], groups.cut(part.members, edge))
        total = residual(total, edges[~np.isnan(edges)])
        loose = [part for part, edge in zip(loose, edges.tolist(), strict=True) if edge != edge]
    return groups.settle(w)


def _left(groups: Groups) -> float:
    """Return what the pinned parts leave of the mass."""
    return residual(groups.box.total, np.array([part.low for part in groups.parts if part.is_pinned]))


def _edges(sums: Vector, loose: list[Part]) -> Vector | None:
    """Return the edge at which each part must be fixed, NaN for the others; None if every total is in its window."""
    lows, highs = np.array([part.low for part in loose]), np.array([part.high for part in loose])
    short, over = np.maximum(lows - sums, 0.0), np.maximum(sums - highs, 0.0)
    if not short.any() and not over.any():
        return None
    if short.sum() >= over.sum():
        return np.where(short > 0, lows, np.nan)
    return np.where(over > 0, highs, np.nan)


def nearest_rows(rows: Vector, groups: Groups, single: Nearest, batch: Nearest) -> Vector:
    """Return the nearest point for each row (N, K), rows whose parts are fixed alike taken together."""
    result = np.empty_like(rows)
    for part in groups.parts:
        if part.is_pinned:
            result[:, part.members] = batch(rows[:, part.members], groups.cut(part.members, part.low))
    _descend(rows, np.arange(len(rows)), list(groups.loose), _left(groups), groups, batch, result)
    for i, row in enumerate(result):
        if not groups.holds(row):
            result[i] = groups.settle(row)
    return result


def _descend(
    rows: Vector,
    which: Integers,
    loose: list[Part],
    total: float,
    groups: Groups,
    batch: Nearest,
    result: Vector,
) -> None:
    """Project the chosen rows onto the loose parts, fix what must be, and go on with each pattern of fixed parts."""
    if not loose or not len(which):
        return
    members = np.concatenate([part.members for part in loose])
    result[np.ix_(which, members)] = batch(rows[np.ix_(which, members)], groups.cut(members, total))
    patterns, kind = np.unique(_sides(result[which], loose), axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns.tolist()):
        if not any(pattern):
            continue
        mine, edges = which[kind.ravel() == k], []
        for part, side in zip(loose, pattern, strict=True):
            if side:
                edges.append(part.low if side == LOW else part.high)
                place = np.ix_(mine, part.members)
                result[place] = batch(rows[place], groups.cut(part.members, edges[-1]))
        left = [part for part, side in zip(loose, pattern, strict=True) if not side]
        _descend(rows, mine, left, residual(total, np.array(edges)), groups, batch, result)


def _sides(rows: Vector, loose: list[Part]) -> Integers:
    """Return at which edge each part must be fixed for each row, (N, parts): 0 for none, LOW or HIGH."""
    sums = np.stack([rows[:, part.members].sum(axis=1) for part in loose], axis=1)
    lows, highs = np.array([part.low for part in loose]), np.array([part.high for part in loose])
    short, over = np.maximum(lows - sums, 0.0), np.maximum(sums - highs, 0.0)
    rising = (short.sum(axis=1) >= over.sum(axis=1))[:, None]
    return np.where(rising & (short > 0), LOW, np.where(~rising & (over > 0), HIGH, 0)).astype(np.int64)


def vertex(scores: Vector, groups: Groups) -> Vector:
    """Return the vertex (K,) that maximises the sum of scores * w, by greedy filling in two stages.

    Each part is filled to the low edge of its window in score order, and on to the high edge; between these two, all
    sources are filled in score order. Ties go to the smaller index.
    """
    box = groups.box
    low, high = np.empty_like(box.lower), np.empty_like(box.lower)
    for part in groups.parts:
        low[part.members] = best(scores[part.members], groups.cut(part.members, part.low))
        high[part.members] = best(scores[part.members], groups.cut(part.members, part.high))
    return groups.settle(best(scores, Box(low, np.maximum(low, high), box.total)))
