"""What is known of a region with rows before it is used: its hull and centre, or a clash that leaves no weights."""

from collections.abc import Container, Sequence

import attrs
import numpy as np

from andrea_core.errors import InfeasibleRegion
from andrea_core.simplex import feasibility
from andrea_core.simplex.bounds import Bound, Bounds
from andrea_core.simplex.box import Box, exact_sum, frozen, seal
from andrea_core.simplex.feasibility import Verdict, clashing, listed
from andrea_core.simplex.groups import feasibility as groups
from andrea_core.simplex.polytope import lp
from andrea_core.simplex.polytope.dual import nearest
from andrea_core.simplex.polytope.lp import FEASIBLE, Rows
from andrea_core.simplex.polytope.middle import middle
from andrea_core.values import Mask, Vector

MOST = 400
"""Clashes among more bounds than this are told without looking for the smallest."""


@attrs.frozen(eq=False)
class Survey(Verdict):
    """A feasible region with rows: its box, its rows, its hull's directions (K, d), its centre (K,).

    `ball` (K,) and `radius` are the middle and the radius of a largest ball inside. `tied` marks the one-sided rows
    that hold with equality everywhere.
    """

    rows: Rows = attrs.field(kw_only=True)
    tied: Mask = attrs.field(kw_only=True)
    basis: Vector = attrs.field(kw_only=True)
    centre: Vector = attrs.field(kw_only=True)
    ball: Vector = attrs.field(kw_only=True)
    radius: float = attrs.field(kw_only=True)

    def __attrs_post_init__(self) -> None:
        seal(self.tied, self.basis)


def survey(stated: Bounds) -> Survey:
    """Return what is known of feasible bounds and rows; raises InfeasibleRegion with a smallest clash otherwise."""
    plain = _without_rows(stated)
    rows, box = lp.rows_of(stated), plain.box
    missing = lp.shortage(rows, box)
    if missing > FEASIBLE:
        raise _clash(stated, missing)
    rows = attrs.evolve(rows, give=missing)
    inside = lp.interior(rows, box)
    if not box.is_point:
        lower = np.where(inside.at_upper & ~inside.at_lower, box.upper, box.lower)
        box = Box(frozen(lower), frozen(np.where(inside.at_lower, box.lower, box.upper)), box.total)
    basis = _basis(rows, box, inside.tied)
    if not basis.shape[1]:
        point = frozen(nearest(inside.point, rows, box, "euclidean"))
        box = Box(point, point, exact_sum(point), is_point=True)
        return Survey(
            box, plain.rounding, rows=rows, tied=inside.tied, basis=basis, centre=point, ball=point, radius=0.0
        )
    deep, radius = lp.deepest(rows, box, inside.tied, basis)
    ball = middle(deep, radius, rows, box, inside.tied, basis)
    if rows.excess(ball) > 0.0:
        ball = nearest(ball, rows, box, "euclidean")
    ball = frozen(ball)
    return Survey(box, rows=rows, tied=inside.tied, basis=basis, centre=ball, ball=ball, radius=max(radius, 0.0))


def _without_rows(stated: Bounds) -> Verdict:
    """Return the verdict on all but the rows: groups without common sources tell of the bounds that they imply."""
    if stated.groups and stated.disjoint:
        return groups.judge(attrs.evolve(stated, rows=()))
    return feasibility.judge(stated)


def _basis(rows: Rows, box: Box, tied: Mask) -> Vector:
    """Return orthonormal directions (K, d) along which the region extends."""
    count = len(box.lower)
    free = box.free if not box.is_point else np.zeros(0, np.int64)
    basis = np.zeros((count, 0))
    if not len(free):
        return basis
    fixed = np.vstack([np.ones(len(free)), rows.one_sided()[0][tied][:, free]])
    _, sizes, turned = np.linalg.svd(fixed)
    rank = int(np.count_nonzero(sizes > 1e-10 * sizes[0]))
    basis = np.zeros((count, len(free) - rank))
    basis[free] = turned[rank:].T
    return basis


@attrs.frozen(eq=False)
class _Part:
    """One stated bound while a smallest clash is sought: what it says of the weights or of a row."""

    bound: Bound
    row: Vector
    limit: float


def _clash(stated: Bounds, missing: float) -> InfeasibleRegion:
    """Explain rows that leave no weights: drop bounds one by one while what is left clashes (a deletion filter)."""
    parts = _parts(stated)
    if len(parts) <= MOST:
        for part in tuple(parts):
            fewer = [one for one in parts if one is not part]
            if _short(fewer, len(stated.names)) > FEASIBLE:
                parts = fewer
    here = _short(parts, len(stated.names))
    clash = tuple(part.bound for part in parts)
    named = dict.fromkeys(part.bound.source for part in parts if part.bound.kind.startswith("row"))
    rows = " or ".join(f"the row {name}" for name in named)
    alone = len(clash) == 1
    what = f"{listed(list(clash))} {'cannot be met by weights that sum to 1' if alone else 'contradict each other'}"
    bounds = "it" if alone else rows or "these bounds"
    share = f", {here:.6g} of it for this clash" if missing - here > 1e-6 * missing else ""
    repair = f"relax {bounds} by {missing:.6g} in total{share}{_scales(stated, named) if rows else ''}"
    return clashing(what, clash, missing, repair)


def _scales(stated: Bounds, named: Container[str]) -> str:
    scaled = any(row.scale != 1.0 and row.label(stated.names) in named for row in stated.rows)
    return ", counted in rows that are divided by their largest coefficient" if scaled else ""


def _short(parts: Sequence[_Part], count: int) -> float:
    """Return the least total amount by which these bounds alone must be relaxed."""
    if not parts:
        return 0.0
    rows = Rows(
        np.array([part.row for part in parts]), np.full(len(parts), -np.inf), np.array([part.limit for part in parts])
    )
    return lp.shortage(rows, Box(np.zeros(count), np.ones(count)))


def _parts(stated: Bounds) -> list[_Part]:
    """Return every stated bound as `row w <= limit`, those of sources first, so that rows are what a clash keeps."""
    unit = np.eye(len(stated.names))
    parts = [_Part(stated.floor(int(i)), -unit[i], -float(stated.lower[i])) for i in np.flatnonzero(stated.lower > 0)]
    parts += [_Part(stated.cap(int(i)), unit[i], float(stated.upper[i])) for i in np.flatnonzero(stated.upper < 1)]
    for group in stated.groups:
        row = unit[list(group.members)].sum(axis=0)
        parts.append(_Part(stated.group_floor(group), -row, -group.at_least))
        parts.append(_Part(stated.group_cap(group), row, group.at_most))
    for one in stated.rows:
        row, label = one.dense(len(stated.names)), one.label(stated.names)
        if np.isfinite(one.at_least):
            parts.append(_Part(Bound(label, "row floor", one.at_least * one.scale, one.reason), -row, -one.at_least))
        if np.isfinite(one.at_most):
            parts.append(_Part(Bound(label, "row cap", one.at_most * one.scale, one.reason), row, one.at_most))
    return parts
