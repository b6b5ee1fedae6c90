"""Linear programs over bounds and rows (HiGHS): feasibility, a point well inside, vertices."""

from typing import Any, NamedTuple

import attrs
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from andrea_core.errors import AndreaError
from andrea_core.simplex.bounds import Bounds
from andrea_core.simplex.box import Box, exact_sum, residual, seal
from andrea_core.values import Mask, Vector

FEASIBLE = 1e-9
"""Rows, scaled to a largest coefficient of 1, that a linear program misses by no more than this are met."""
_GIVES = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5)
"""How much, in widths of the box, sides may clash by rounding; slack of less than ten times that is taken for none."""
_SPECK = 1e-12
"""Widths below this share of the widest are rounding of what the bounds were made of: no room."""
_ROUNDING = "the linear program of a region with rows found no point; its rows are met by rounding only"


@attrs.frozen(eq=False)
class Rows:
    """The set { w : low <= A w <= high }, A (R, K), each row with largest coefficient 1; infinite sides do not bind.

    `give` is what linear programs let each side give, so that rows which clash by rounding alone leave a point.
    """

    matrix: Vector
    low: Vector
    high: Vector
    give: float = 0.0

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
        return matrix, np.concatenate([self.high[top], -self.low[bottom]]) + self.give


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


@attrs.frozen(eq=False)
class Scaled:
    """A box in coordinates u near 1, w = lower + unit * u: solvers have absolute tolerances, regions may be thin."""

    lower: Vector
    upper: Vector
    total: float
    unit: float

    @classmethod
    def of(cls, box: Box) -> "Scaled":
        """Return the box moved to the origin and stretched by a power of two, so that stretching rounds nothing."""
        widest = min(max(float(box.width.max(initial=0.0)), 0.0), 1.0)
        unit = float(2.0 ** np.ceil(np.log2(widest))) if widest > 0.0 else 1.0
        upper = np.where(box.width > _SPECK * unit, box.width / unit, 0.0)
        total = residual(box.total, box.lower) / unit
        return cls(box.lower, upper, min(max(total, 0.0), exact_sum(upper)), unit)

    def limits(self, matrix: Vector, limits: Vector) -> Vector:
        """Return h (R,) with `matrix u <= h` where `matrix w <= limits`; sides that never bind are not far away."""
        never = 4.0 * len(self.lower)  # coefficients are at most 1, and so is each u
        return np.minimum((limits - matrix @ self.lower) / self.unit, never)

    def pairs(self) -> list[tuple[float, float | None]]:
        """Return the bounds of each coordinate."""
        return [(0.0, high) for high in self.upper.tolist()]

    def coordinates(self, w: Vector) -> Vector:
        """Return the coordinates (K,) of w (K,)."""
        return np.asarray((w - self.lower) / self.unit)

    def weights(self, u: Vector) -> Vector:
        """Return the weights (K,) at u (K,)."""
        return np.asarray(self.lower + self.unit * u)


class Priced(NamedTuple):
    """A minimiser (K,) and the price of each one-sided row: how much less a unit more of it would cost.

    `more` are the values of further variables.
    """

    weights: Vector
    prices: Vector
    more: Vector


def solve(cost: Vector, upper_rows: Vector, limits: Vector, box: Box, extra: int = 0) -> Priced | None:
    """Minimise cost over the box and `upper_rows w <= limits`; `extra` more variables >= 0 may follow the weights.

    Returns None when no point exists. Raises AndreaError if the solver gives up.
    """
    scaled, count = Scaled.of(box), len(box.lower)
    total = np.concatenate([np.ones(count), np.zeros(extra)])[None]
    bounds = [*scaled.pairs(), *([(0.0, None)] * extra)]
    room = scaled.limits(upper_rows[:, :count], limits)
    found = _solved(cost, upper_rows, room, total, [scaled.total], bounds)
    if found is None:
        return None
    return Priced(scaled.weights(found.x[:count]), np.asarray(found.ineqlin.marginals), scaled.unit * found.x[count:])


def _solved(*program: Any) -> Any:
    """Return HiGHS's answer to a program (cost, G, h, A, b, bounds), None where no point exists.

    What one method of it leaves undecided, rows that all but clash above all, another may decide.
    """
    solver: Any = linprog
    for method in ("highs", "highs-ds", "highs-ipm"):
        found = solver(*program, method=method)
        if found.status == 0:
            return found
        if found.status == 2:
            return None
    raise AndreaError(f"the linear program of a region with rows was not solved: {found.message}")


def priced(cost: Vector, upper_rows: Vector, limits: Vector, box: Box, extra: int = 0) -> Priced:
    """Minimise as `solve` over a set known to have a point; raises AndreaError if the solver gives up.

    A solver may find rows that hold with equality at odds by rounding: then all give a little, up to `FEASIBLE`.
    """
    for give in (0.0, 1e-12, 1e-11, 1e-10, FEASIBLE):
        answer = solve(cost, upper_rows, limits + give, box, extra)
        if answer is not None:
            return answer
    raise AndreaError(_ROUNDING)


def shortage(rows: Rows, box: Box) -> float:
    """Return the least total amount by which the rows must be relaxed to leave a point of the box (elastically)."""
    matrix, limits = rows.one_sided()
    count, elastic = matrix.shape[1], len(limits)
    cost = np.concatenate([np.zeros(count), np.ones(elastic)])
    answer = solve(cost, np.hstack([matrix, -np.eye(elastic)]), limits, box, elastic)
    return exact_sum(answer.more) if answer else float("inf")


def best(scores: Vector, rows: Rows, box: Box) -> Vector:
    """Return a maximiser (K,) of the sum of scores * w, a vertex to the solver's tolerance; scores are finite."""
    matrix, limits = rows.one_sided()
    return priced(-scores, matrix, limits, box).weights


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
    scaled, matrix = Scaled.of(box), rows.one_sided()[0]
    limits = scaled.limits(*rows.one_sided())
    for give in _GIVES:
        found = _cone(matrix, limits + give, scaled, 0.1 / give)
        if found is not None:
            return found
    raise AndreaError(_ROUNDING)


def _cone(matrix: Vector, limits: Vector, scaled: Scaled, farthest: float) -> Interior | None:
    """Return what the program over the cone finds with s of at most `farthest`, None for no point."""
    count, tight = matrix.shape[1], len(limits)
    blocks: list[list[Any]] = [
        [sparse.csr_array(matrix), -limits[:, None], sparse.identity(tight), None, None],
        [-sparse.identity(count), np.zeros((count, 1)), None, sparse.identity(count), None],
        [sparse.identity(count), -scaled.upper[:, None], None, None, sparse.identity(count)],
    ]
    slack: Any = sparse.bmat(blocks, format="csr")
    slacks = tight + 2 * count
    cost = np.concatenate([np.zeros(count + 1), -np.ones(slacks)])
    whole = np.concatenate([np.ones(count), [-scaled.total], np.zeros(slacks)])[None]
    bounds = [(0.0, None)] * count + [(1.0, farthest)] + [(0.0, 1.0)] * slacks
    found = _solved(cost, slack, np.zeros(slacks), whole, [0.0], bounds)
    if found is None:
        return None
    x = np.asarray(found.x)
    lax = x[count + 1 :] < 0.5
    return Interior(scaled.weights(x[:count] / x[count]), lax[:tight], lax[tight : tight + count], lax[tight + count :])


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
    answer = priced(cost, upper_rows, np.concatenate([limits, -box.lower, box.upper]), box, 1)
    return answer.weights, float(answer.more[0])
