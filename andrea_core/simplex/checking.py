"""Input checks at the door of a region, and the sentences that say what is wrong with weights."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from andrea_core.simplex.box import Box, exact_sum
from andrea_core.values import Vector


def finite(values: npt.ArrayLike, count: int) -> Vector:
    """Return values as float64 (K,) or (N, K); raises ValueError for another shape, NaN or infinity."""
    array = shaped(values, count)
    refuse_unless_finite(array)
    return array


def refuse_unless_finite(array: Vector) -> None:
    """Raise ValueError if the array holds NaN or infinity."""
    if np.count_nonzero(np.isfinite(array)) != array.size:
        raise ValueError("entries must be finite numbers")


def ranked(scores: npt.ArrayLike, count: int) -> Vector:
    """Return scores as float64 (K,) or (N, K); raises ValueError for another shape or NaN, infinities may stand."""
    array = shaped(scores, count)
    if np.isnan(array).any():
        raise ValueError("scores must not be NaN")
    return array


def shaped(values: npt.ArrayLike, count: int) -> Vector:
    """Return values as float64 (K,) or (N, K); raises ValueError for another shape."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in (1, 2) or array.shape[-1] != count:
        raise ValueError(f"expected shape ({count},) or (N, {count}), got {array.shape}")
    return array


def keep_legal(given: Vector, made: Vector, box: Box) -> Vector:
    """Return the made rows (N, K), but rows that were given legal as they were given, bit for bit."""
    inside = ((given >= box.lower) & (given <= box.upper) & ~np.signbit(given)).all(axis=1)
    for i in np.flatnonzero(inside):
        if exact_sum(given[i]) == box.total:
            made[i] = given[i]
    return made


def reasons(effective: Vector, stated: Vector, why: Mapping[int, str]) -> tuple[str, ...]:
    """Return the reason of each effective bound; one that differs from the stated bound is implied by the others."""
    implied = effective != stated
    return tuple("implied by the other bounds" if implied[i] else why.get(i, "") for i in range(len(stated)))


def violations(w: Vector, names: tuple[str, ...], box: Box, why: tuple[tuple[str, ...], tuple[str, ...]]) -> list[str]:
    """Return a sentence for each way in which w breaks the contract of the region."""
    if w.shape != box.lower.shape:
        return [f"expected {len(names)} weights, one a source, got shape {w.shape}"]
    if not np.isfinite(w).all():
        return [f"the weight of {names[i]} is {w[i]}" for i in np.flatnonzero(~np.isfinite(w))]
    found = [f"{names[i]} = {w[i]!s} is below {_bound(box.lower[i], why[0][i])}" for i in np.flatnonzero(w < box.lower)]
    found += [
        f"{names[i]} = {w[i]!s} is above {_bound(box.upper[i], why[1][i])}" for i in np.flatnonzero(w > box.upper)
    ]
    found += [f"{names[i]} is a negative zero" for i in np.flatnonzero((w == 0) & np.signbit(w))]
    if exact_sum(w) != box.total:
        found.append(f"the weights sum to {exact_sum(w)!r}, not to {box.total!r}")
    return found


def _bound(value: float, reason: str) -> str:
    return f"{value!s} ({reason})" if reason else f"{value!s}"
