"""Projection under the Kullback-Leibler divergence, the same for every f-divergence, for a vector or rows."""

import math

import numpy as np

from andrea_core.simplex import checking
from andrea_core.simplex.box import Box, exact_sum
from andrea_core.simplex.dual import bracket, bracket_rows
from andrea_core.simplex.fixup import fix_up, fix_up_rows
from andrea_core.simplex.ties import REFINEMENTS, decided, doubtful, refined
from andrea_core.values import Mask, Vector


def kullback_leibler(p: Vector, box: Box) -> Vector:
    """Return the w of the box with the least sum w log(w / p) for weights p (K,) >= 0 of any positive sum.

    The solution is clip(c p, lower, upper) with one scalar c, the same for every f-divergence. A zero of p stays at its
    lower bound; if the rest cannot carry the whole mass, the zeros share what is left as equal tiny weights would. A
    legal p comes back as it is. Raises ValueError for NaN, infinity and negative entries.
    """
    _refuse_unless_fit(p)
    if box.holds(p):
        return p.copy()
    positive = p > 0
    if not positive.all():
        p, box = _without_zeros(p, positive, box)
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(p)
        starts, ends = logs - np.log(box.upper), logs - np.log(box.lower)
        left, right = bracket(logs, starts, ends, box, np.exp)
        at_upper = starts >= right
        between = ~at_upper & (ends > left)
        return fix_up(*decided(p, refined(p, at_upper, between, box, _moved), box, _moved, scales=True))


def _without_zeros(p: Vector, positive: Mask, box: Box) -> tuple[Vector, Box]:
    """Return an equivalent problem without zeros: they are pinned below, or the rest above and the zeros equal."""
    carried = exact_sum(np.where(positive, box.upper, box.lower))
    if carried >= box.total:
        return np.where(positive, p, 1.0), Box(box.lower, np.where(positive, box.upper, box.lower), box.total)
    return np.ones_like(p), Box(np.where(positive, box.upper, box.lower), box.upper, box.total)


def _moved(p: Vector, at_upper: Mask, between: Mask, box: Box) -> Vector:
    """Return c p for the c that the coordinates between their bounds imply."""
    ends = np.where(at_upper, box.upper, box.lower)
    rest = -math.fsum([*ends[~between].tolist(), -box.total])
    if rest <= 0.0 or not between.any():  # the bounds carry everything: c is 0 next to what it may not multiply
        return ends
    p = p / p[between].max()
    moved: Vector = p * (rest / exact_sum(p[between]))
    return moved


def _refuse_unless_fit(values: Vector) -> None:
    """Raise ValueError for NaN, infinity and negative entries."""
    checking.refuse_unless_finite(values)
    if (values < 0).any():
        raise ValueError("project under kl: entries must not be negative")


def kullback_leibler_rows(rows: Vector, box: Box) -> Vector:
    """Return the Kullback-Leibler projection of each row (N, K), equal to that of single vectors within rounding."""
    _refuse_unless_fit(rows)
    result = np.empty_like(rows)
    whole = (rows > 0).all(axis=1)
    result[whole] = _positive_rows(rows[whole], box)
    for i in np.flatnonzero(~whole):
        result[i] = kullback_leibler(rows[i], box)
    return result


def _positive_rows(rows: Vector, box: Box) -> Vector:
    """Return the projection of rows (N, K) > 0: together, but for those with ties, which are projected one by one."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        logs = np.log(rows)
        starts, ends = logs - np.log(box.upper), logs - np.log(box.lower)
        left, right = bracket_rows(logs, starts, ends, box, np.exp)
        at_upper = starts >= right
        between = ~at_upper & (ends > left)
        scale = np.where(between, rows, 0.0).max(axis=1, keepdims=True, initial=0.0)
        x, sure = _refine_rows(rows / np.where(scale > 0, scale, 1.0), at_upper, between, box)
        unsure = ~sure | doubtful(x, box).any(axis=1)
    result = fix_up_rows(x, box)
    for i in np.flatnonzero(unsure):
        result[i] = kullback_leibler(rows[i], box)
    return result


def _refine_rows(rows: Vector, at_upper: Mask, between: Mask, box: Box) -> tuple[Vector, Mask]:
    """Return c rows (N, K), and which rows (N,) ended with some coordinates free, and the same ones."""
    x, inside = rows, between
    for _ in range(REFINEMENTS):
        before = inside
        fixed = np.where(before, 0.0, np.where(at_upper, box.upper, box.lower)).sum(axis=1)
        moving = np.where(before, rows, 0.0).sum(axis=1)
        rest = box.total - fixed
        x = rows * (rest / np.where(moving > 0, moving, 1.0))[:, None]
        at_upper = x >= box.upper
        inside = ~at_upper & (x > box.lower)
        if (inside == before).all():
            break
    return x, (inside == before).all(axis=1) & inside.any(axis=1)
