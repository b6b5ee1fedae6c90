"""Linear programs over bounds and rows (HiGHS): feasibility, a point well inside, vertices."""

from typing import Any, NamedTuple

import attrs
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from andrea_core.errors import AndreaError
from andrea_core.simplex.bounds import Bounds
from andrea_core.simplex.box import Box, seal
from andrea_core.values import Mask, Vector

FEASIBLE = 1e-9
"""Rows, scaled to a largest coefficient of 1, that a linear program misses by no more than this are met."""
_FARTHEST = 1e8
"""Slack below one part in this is taken for none when the rows that hold with equality everywhere are sought."""


@attrs.frozen(eq=False)
class Rows:
    """The set { w : low <= A w <= high }, A (R, K), each row with largest coefficient 1; infinite sides do not bind."""

    matrix: Vector
    low: Vector
    high: Vector

    def __attrs_post_init__(self) -> None:
        seal(self.matrix, self.low, self.high)

    def excess(self, w: Vector) -> float:
        """Return the largest amount by which w (K,) breaks a row, 0.0 for none."""
        values = self.matrix @ w
        return float(np.maximum(self.low - values, values - self.high).max(initial=0.0))

    def one_sided(self) -> tuple[Vector, Vector]:
        """Return (G, h) with G w <= h equivalent to the rows."""
        top, bottom = np.isfinite(self.high), np.isfinite(self.low)
        matrix = np.vstack([self.matrix[top], -self.matrix[bottom]])
        return matrix, np.concatenate([self.high[top], -self.low[bottom]])


def rows_of(bounds: Bounds) -> Rows:
    """Return the stated rows, and the stated groups as rows."""
    count = len(bounds.names)
    matrix = [row.dense(count) for row in bounds.rows]
    for group in bounds.groups:
        matrix.append(np.zeros(count))
        matrix[-1][list(group.members)] = 1.0
    low = [row.at_least for row in bounds.rows] + [group.at_least for group in bounds.groups]
    high = [row.at_most for row in bounds.rows] + [group.at_most for group in bounds.groups]
    return Rows(np.array(matrix), np.array(low), np.array(high))


def solve(cost: Vector, upper_rows: Vector, limits: Vector, box: Box, extra: int = 0) -> tuple[float, Vector] | None:
    """Minimise cost over the box and `upper_rows w <= limits`; `extra` more variables >= 0 may follow the weights.

    Returns (value, variables), or None when no point exists. Raises AndreaError if the solver gives up.
    """
    total = np.concatenate([np.ones(len(box.lower)), np.zeros(extra)])[None]
    bounds = [*zip(box.lower.tolist(), box.upper.tolist(), strict=True), *([(0.0, None)] * extra)]
    found: Any = linprog(cost, upper_rows, limits, total, [box.total], bounds, method="highs")
    if found.status == 2:
        return None
    if found.status != 0:
        raise AndreaError(f"the linear program of a region with rows was not solved: {found.message}")
    return float(cost @ found.x), np.asarray(found.x)


class Priced(NamedTuple):
    """A minimiser (K,) and the price of each one-sided row: how much less a unit more of it would cost."""

    weights: Vector
    prices: Vector


def priced(cost: Vector, upper_rows: Vector, limits: Vector, box: Box) -> Priced:
    """Minimise cost over the box and `upper_rows w <= limits`; raises AndreaError if the solver gives up."""
    bounds = [*zip(box.lower.tolist(), box.upper.tolist(), strict=True)]
    found: Any = linprog(cost, upper_rows, limits, np.ones((1, len(cost))), [box.total], bounds, method="highs")
    if found.status != 0:
        raise AndreaError(f"the linear program of a region with rows was not solved: {found.message}")
    return Priced(np.asarray(found.x), np.asarray(found.ineqlin.marginals))


def shortage(rows: Rows, box: Box) -> float:
    """Return the least total amount by which the rows must be relaxed to leave a point of the box (elastically)."""
    matrix, limits = rows.one_sided()
    count, elastic = matrix.shape[1], len(limits)
    cost = np.concatenate([np.zeros(count), np.ones(elastic)])
    answer = solve(cost, np.hstack([matrix, -np.eye(elastic)]), limits, box, elastic)
    return answer[0] if answer else float("inf")


def best(scores: Vector, rows: Rows, box: Box) -> Vector:
    """Return a maximiser (K,) of the sum of scores * w, a vertex to the solver's tolerance; scores are finite."""
    matrix, limits = rows.one_sided()
    answer = solve(-scores, matrix, limits, box)
    if answer is None:
        raise AndreaError("the linear program of a region with rows found no point; its rows are met by rounding only")
    return answer[1]


@attrs.frozen(eq=False)
class Interior:
    """A point in the relative interior, which one-sided rows hold with equality everywhere, which weights are fixed."""

    point: Vector
    tied: Mask
    at_lower: Mask
    at_upper: Mask


def interior(rows: Rows, box: Box) -> Interior:
    """Return where the set lies in its hull, by one program over the cone { (s w, s) : s >= 1 }.

    Every slack is asked to reach 1 on that cone: those that can do so together, so that slacks left at 0 are 0
    everywhere on the set, and the point reached is in the relative interior (Freund, Roundy and Todd 1985).
    """
    matrix, limits = rows.one_sided()
    count, tight = matrix.shape[1], len(limits)
    blocks: list[list[Any]] = [
        [sparse.csr_array(matrix), -limits[:, None], sparse.identity(tight), None, None],
        [-sparse.identity(count), box.lower[:, None], None, sparse.identity(count), None],
        [sparse.identity(count), -box.upper[:, None], None, None, sparse.identity(count)],
    ]
    slack: Any = sparse.bmat(blocks, format="csr")
    slacks = tight + 2 * count
    cost = np.concatenate([np.zeros(count + 1), -np.ones(slacks)])
    whole = np.concatenate([np.ones(count), [-box.total], np.zeros(slacks)])[None]
    bounds = [(0.0, None)] * count + [(1.0, _FARTHEST)] + [(0.0, 1.0)] * slacks
    found = linprog(cost, slack, np.zeros(slacks), whole, [0.0], bounds, method="highs")
    if found.status != 0:
        raise AndreaError(f"the linear program of a region with rows was not solved: {found.message}")
    x = np.asarray(found.x)
    lax = x[count + 1 :] < 0.5
    return Interior(x[:count] / x[count], lax[:tight], lax[tight : tight + count], lax[tight + count :])


def deepest(rows: Rows, box: Box, tied: Mask, basis: Vector) -> tuple[Vector, float]:
    """Return the centre (K,) and radius of a largest ball in the hull spanned by basis (K, d).

    Rows that are tied hold with equality; all others, and all bounds that can move, keep a distance of the radius.
    """
    matrix, limits = rows.one_sided()
    count = matrix.shape[1]
    speeds = np.where(tied, 0.0, np.linalg.norm(matrix @ basis, axis=1))
    sides = np.linalg.norm(basis, axis=1)
    upper_rows = np.vstack(
        [
            np.column_stack([matrix, speeds]),
            np.column_stack([-np.eye(count), sides]),
            np.column_stack([np.eye(count), sides]),
        ]
    )
    cost = np.zeros(count + 1)
    cost[-1] = -1.0
    answer = solve(cost, upper_rows, np.concatenate([limits, -box.lower, box.upper]), box, 1)
    if answer is None:
        raise AndreaError("the linear program of a region with rows found no point; its rows are met by rounding only")
    return answer[1][:count], float(answer[1][-1])
