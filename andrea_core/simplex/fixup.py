"""Moves weights by the last units of rounding so that bounds hold bitwise and the exact sum is 1."""

import math

import numpy as np

from andrea_core.simplex.box import Box
from andrea_core.values import Integers, Mask, Vector

ROUNDS = 64
FEW_ROWS = 16
_LOWEST, _HIGHEST = -(2.0**-53), 2.0**-54
"""Exact residuals 1 - sum in this closed interval round to a sum of 1.0, ties going to the even side."""
_DOUBT = 1e-22
"""Margin around that interval within which a doubled-precision residual is not trusted."""


def fix_up(w: Vector, box: Box, movable: Mask | None = None) -> Vector:
    """Return w (K,) clipped into the box and moved to the exact sum of the box; a legal w comes back bit for bit.

    The rounding residual goes to the coordinate with most room, or fills several if no single one can take it. Those
    strictly between their bounds, or those of the mask `movable` (K,), come first: others leave a bound only if these
    have no room. One unit in the last place of any weight is at most 2**-53, so a sum that rounds to 1 is always met
    when the box has slack.
    """
    w = box.clip(w)
    for _ in range(ROUNDS):
        values = w.tolist()
        if math.fsum(values) == box.total:
            break
        values.append(-box.total)
        rest = -math.fsum(values)
        room = _room(w, rest, box, movable)
        j = int(room.argmax())
        if room[j] == 0.0:
            break
        if room[j] >= abs(rest):
            w[j] = _moved(float(w[j]), rest, float(box.lower[j]), float(box.upper[j]))
        else:
            _fill(w, rest, room, box)
    return w


def _room(w: Vector, rest: float, box: Box, movable: Mask | None) -> Vector:
    """Return how far each coordinate (K,) may move toward the sum; 0 for those on a bound while the others suffice."""
    room: Vector = box.upper - w if rest > 0 else w - box.lower
    first = np.where((w > box.lower) & (w < box.upper) if movable is None else movable, room, 0.0)
    return first if first.sum() >= abs(rest) else room


def _moved(value: float, rest: float, lower: float, upper: float) -> float:
    """Return value + rest inside the bounds, at least one unit in the last place away."""
    moved = value + rest
    if moved == value:
        moved = math.nextafter(value, math.copysign(math.inf, rest))
    return min(max(moved, lower), upper)


def _fill(w: Vector, rest: float, room: Vector, box: Box) -> None:
    """Set the roomiest coordinates to their bounds while the residual lasts; what is left fits a single coordinate."""
    order = np.argsort(-room, kind="stable")
    full = order[: max(1, int(np.searchsorted(np.cumsum(room[order]), abs(rest), side="right")))]
    w[full] = (box.upper if rest > 0 else box.lower)[full]


def fix_up_rows(rows: Vector, box: Box) -> Vector:
    """Return rows (N, K), each fixed up as by `fix_up` up to which coordinate takes the last unit."""
    if len(rows) < FEW_ROWS:
        return np.array([fix_up(row, box) for row in rows]).reshape(rows.shape)
    rows = box.clip(rows)
    rest = residual_rows(rows, box.total)
    wrong = (rest < _LOWEST - _DOUBT) | (rest > _HIGHEST + _DOUBT)
    nudged, doubtful = np.flatnonzero(wrong), np.flatnonzero(~wrong & ~_settled(rest))
    _nudge(rows, nudged, rest[nudged], box)
    again = nudged[~_settled(residual_rows(rows[nudged], box.total))]
    for i in (*doubtful, *again):
        rows[i] = fix_up(rows[i], box)
    return rows


def residual_rows(rows: Vector, total: float) -> Vector:
    """Return `total - sum` of each row (N, K) -> (N,) in doubled precision (Knuth's two-sum, column by column)."""
    columns = np.ascontiguousarray(rows.T)
    high, low = np.zeros(len(rows)), np.zeros(len(rows))
    for column in columns:
        added = high + column
        shifted = added - high
        low += (high - (added - shifted)) + (column - shifted)
        high = added
    result: Vector = (total - high) - low
    return result


def _settled(rest: Vector) -> Mask:
    """Return which rows surely have an exact sum that rounds to 1."""
    return np.asarray((rest > _LOWEST + _DOUBT) & (rest < _HIGHEST - _DOUBT))


def _nudge(rows: Vector, which: Integers, rest: Vector, box: Box) -> None:
    """Add each residual to the roomiest coordinate strictly between its bounds, if one has room, else to any."""
    chosen = rows[which]
    room = np.where(rest[:, None] > 0, box.upper - chosen, chosen - box.lower)
    first = np.where((chosen > box.lower) & (chosen < box.upper), room, 0.0)
    room = np.where(first.max(axis=1, keepdims=True, initial=0.0) >= np.abs(rest)[:, None], first, room)
    column = room.argmax(axis=1)
    moved = chosen[np.arange(len(which)), column] + rest
    rows[which, column] = np.minimum(np.maximum(moved, box.lower[column]), box.upper[column])
