"""The geometry of a path through the parameters: sketches that keep distances, and the plane that a path lies in.

Shape suffixes: n entries of all parameters together, m of a sketch, T points of a path.
"""

import math

import numpy as np

from andrea_core import Vector

HASHES = 20_190_527  # the seed of every sketch, so that sketches of one size compare across runs
AT_ONCE = 2**22


def sketch(vector_n: Vector, size: int) -> Vector:
    """Return a count sketch (m,) of a vector: each entry with a random sign in one random bucket, summed.

    Linear and always the same map for n and m. Inner products and squared lengths are kept without bias, with the
    variance (2 / m) (|x|^4 - |x|_4^4) for a squared length (Charikar et al. 2002; Weinberger et al. 2009).
    """
    draw = np.random.default_rng([HASHES, size])
    total = np.zeros(size)
    for start in range(0, len(vector_n), AT_ONCE):
        part = np.asarray(vector_n[start : start + AT_ONCE], np.float64)
        buckets = draw.integers(2 * size, size=len(part))  # the parity is the sign
        total += np.bincount(buckets // 2, part * (1 - 2 * (buckets % 2)), size)
    return total


def length(vector_n: Vector) -> float:
    """Return the length of a vector, in float64 whatever its own precision: float32 squares end at 3e38."""
    return float(np.linalg.norm(np.asarray(vector_n, np.float64)))


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors; NaN where one has no length."""
    lengths = length(one) * length(other)
    return float(np.asarray(one, np.float64) @ np.asarray(other, np.float64)) / lengths if lengths > 0 else math.nan


def principal_plane(points_Tn: Vector, count: int = 2) -> tuple[Vector, Vector, Vector]:
    """Return a path's principal directions (count, n) about its last point, its coordinates (T, count), and shares.

    By the singular values of the differences to the last point, as in Li et al. 2018 (arXiv 1712.09913), section 7.2,
    from the (T, T) products, so that nothing of (n, n) is made. `shares` (count,) are parts of the sum of squares.
    Directions that the path does not have are 0; all is NaN where the products leave the numbers of the points' type.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        offsets_Tn = points_Tn - points_Tn[-1]
        products_TT = offsets_Tn @ offsets_Tn.T
    if not np.isfinite(products_TT).all():
        none = np.full((count, points_Tn.shape[1]), np.nan)
        return none, np.full((len(points_Tn), count), np.nan), np.full(count, np.nan)
    values_T, vectors_TT = np.linalg.eigh(products_TT)
    order = np.argsort(-values_T)[:count]
    values = np.maximum(values_T[order], 0)
    real = values > 1e-12 * max(float(values_T.sum()), np.finfo(float).tiny)
    scales = np.where(real, 1 / np.sqrt(np.where(real, values, 1)), 0)
    found = (vectors_TT[:, order] * scales).T @ offsets_Tn
    directions = np.zeros((count, points_Tn.shape[1]))
    directions[: len(found)] = found
    shares = np.zeros(count)
    shares[: len(values)] = values / max(float(values_T.sum()), np.finfo(float).tiny)
    return directions, np.asarray(offsets_Tn @ directions.T), shares
