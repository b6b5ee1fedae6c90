"""The geometry of attention heads: spectrum of W_Q W_K', rank of scores, and the angles between head subspaces.

Shape suffixes: L layers, H heads, D width of a head, C width of the stream, T positions.
"""

import numpy as np

from andrea_core import Vector

SHARE = 0.9  # of the squared singular values, by which components are counted


def core_spectrum(query_weights_DC: Vector, key_weights_DC: Vector) -> Vector:
    """Return the singular values (..., D) of W_Q' W_K, the form by which tokens attend, largest first.

    That matrix is (C, C) but of rank D at most. With W_Q' = Q1 R1 and W_K' = Q2 R2 (thin QR), its singular values are
    those of the core R1 R2' (D, D).
    """
    triangles = [np.linalg.qr(np.swapaxes(w, -1, -2))[1] for w in (query_weights_DC, key_weights_DC)]
    return np.asarray(np.linalg.svd(triangles[0] @ np.swapaxes(triangles[1], -1, -2), compute_uv=False))


def effective_rank(spectrum: Vector) -> Vector:
    """Return exp of the entropy of s / sum s, last axis (Roy, Vetterli 2007): n for n equal values, 0 for none."""
    total = spectrum.sum(-1, keepdims=True)
    shares = spectrum / np.where(total > 0, total, 1.0)
    logs = np.log(np.where(shares > 0, shares, 1.0))
    return np.asarray(np.where(total[..., 0] > 0, np.exp(-(shares * logs).sum(-1)), 0.0))


def components(spectrum: Vector, share: float = SHARE) -> Vector:
    """Return how many of the largest singular values hold `share` of the sum of squares, along the last axis."""
    energy = np.cumsum(spectrum**2, -1)
    total = energy[..., -1:]
    needed = (energy < share * total * (1 - 1e-12)).sum(-1) + 1
    return np.asarray(np.where(total[..., 0] > 0, needed, 0), dtype=np.float64)


def subspaces(weights_DC: Vector) -> tuple[Vector, Vector]:
    """Return orthonormal rows (..., D, C) that span those of weights (..., D, C), and the ranks (...).

    Rows beyond the rank, by numpy's tolerance s_1 max(D, C) eps, are zero.
    """
    _, values_D, rows_DC = np.linalg.svd(weights_DC, full_matrices=False)
    least = values_D[..., :1] * max(weights_DC.shape[-2:]) * np.finfo(float).eps
    kept_D = (values_D > least) & (values_D > 0)
    return np.asarray(rows_DC * kept_D[..., None]), np.asarray(kept_D.sum(-1))


def angle_cosines(one_DC: Vector, other_DC: Vector) -> Vector:
    """Return the cosines (..., D) of the principal angles between two spans (Bjorck, Golub 1973), largest first."""
    bases = [subspaces(weights)[0] for weights in (one_DC, other_DC)]
    return np.asarray(np.linalg.svd(bases[0] @ np.swapaxes(bases[1], -1, -2), compute_uv=False))


def overlaps(weights_HDC: Vector) -> Vector:
    """Return |U_g U_h'|_F^2 / D (..., H, H) of all pairs of heads: the mean squared cosine of their principal angles.

    1 on the diagonal for heads of full rank, 0 for orthogonal ones, D / C on average for two random ones.
    """
    rows_HDC, _ = subspaces(weights_HDC)
    products = np.einsum("...gdc,...hec->...ghde", rows_HDC, rows_HDC)
    return np.asarray((products**2).sum((-1, -2)) / weights_HDC.shape[-2])


def mean_overlap(overlaps_HH: Vector) -> Vector:
    """Return the mean (...) over pairs of different heads; NaN for a single head."""
    heads = overlaps_HH.shape[-1]
    if heads < 2:
        return np.full(overlaps_HH.shape[:-2], np.nan)
    off = overlaps_HH.sum((-1, -2)) - np.trace(overlaps_HH, axis1=-2, axis2=-1)
    return np.asarray(off / (heads * (heads - 1)))
