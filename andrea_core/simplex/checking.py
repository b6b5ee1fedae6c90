"""Input checks at the door of a region, and the sentences that say what is wrong with weights."""

import operator
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from andrea_core.simplex.box import Box, exact_sum
from andrea_core.values import Vector


class Effective(NamedTuple):
    """The least and the largest value (K,) of each weight on a region, and the reason of each."""

    lower: Vector
    upper: Vector
    lower_reasons: tuple[str, ...]
    upper_reasons: tuple[str, ...]


def numbers(values: npt.ArrayLike) -> Vector:
    """Return values as float64; raises ValueError for complex numbers and for texts."""
    array = np.asarray(values)
    if array.dtype == np.float64:
        return array
    if array.dtype.kind not in "fiubO":
        raise ValueError(f"expected real numbers, got entries of type {array.dtype}")
    try:
        return np.asarray(array, dtype=np.float64)
    except TypeError as error:
        raise ValueError(f"expected real numbers: {error}") from error


def single(values: npt.ArrayLike, count: int) -> Vector:
    """Return finite float64 values (K,); raises ValueError for rows of them, another shape, NaN or infinity."""
    array = finite(values, count)
    if array.ndim != 1:
        raise ValueError(f"expected one weight vector of shape ({count},), got shape {array.shape}; go row by row")
    return array


def generator(rng: Generator) -> Generator:
    """Return rng; raises TypeError if it is no numpy Generator."""
    if not isinstance(rng, Generator):
        raise TypeError(f"expected a numpy Generator, as of np.random.default_rng(seed), got {rng!r}")
    return rng


def count(n: int | None) -> int:
    """Return how many draws are wanted, 1 for None; raises ValueError for a negative number of them."""
    wanted = 1 if n is None else operator.index(n)
    if wanted < 0:
        raise ValueError(f"the number of draws must not be negative, got {wanted}")
    return wanted


def summed(values: Vector) -> float:
    """Return the correctly rounded sum of (K,) numbers, an infinity or NaN where they are too large to be summed."""
    try:
        return exact_sum(values)
    except (OverflowError, ValueError):
        with np.errstate(over="ignore", invalid="ignore"):
            return float(values.sum())


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
    array = numbers(values)
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
    if summed(w) != box.total:
        found.append(f"the weights sum to {summed(w)!r}, not to {box.total!r}")
    return found


def _bound(value: float, reason: str) -> str:
    return f"{value!s} ({reason})" if reason else f"{value!s}"
