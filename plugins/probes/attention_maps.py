"""What attention weights say: scores to causal weights, their entropy, distance, and what falls on the first token.

Shape suffixes: T positions, D width of a head; any leading axes (layers, heads) pass through.
"""

import math

import numpy as np

from andrea_core import Vector


def causal_weights(scores_TT: Vector) -> Vector:
    """Return softmax of scores (..., T, T) over the keys 0..t that query t sees; 0 for those after it."""
    length = scores_TT.shape[-1]
    seen_TT = np.tri(length, dtype=bool)
    hidden_TT = np.where(seen_TT, scores_TT, -np.inf)
    powers_TT = np.exp(hidden_TT - hidden_TT.max(-1, keepdims=True))
    return np.asarray(powers_TT / powers_TT.sum(-1, keepdims=True))


def scores(queries_TD: Vector, keys_TD: Vector, *, scaled: bool = True) -> Vector:
    """Return q k' (..., T, T), divided by sqrt(D) unless `scaled` is off (Vaswani et al. 2017, section 3.2.1)."""
    products_TT = queries_TD @ np.swapaxes(keys_TD, -1, -2)
    return np.asarray(products_TT / math.sqrt(queries_TD.shape[-1]) if scaled else products_TT)


def entropy(weights_TT: Vector) -> Vector:
    """Return the mean entropy of the rows of causal weights (..., T, T) as a share of what is possible: 0 to 1.

    Row t sees t + 1 keys, so that its entropy is divided by ln(t + 1); row 0 has no choice and does not count. NaN for
    a single token. A weight of exactly 0 adds nothing.
    """
    length = weights_TT.shape[-1]
    if length < 2:
        return np.full(weights_TT.shape[:-2], np.nan)
    logs_TT = np.log(np.where(weights_TT > 0, weights_TT, 1.0))
    rows_T = -(weights_TT * logs_TT).sum(-1)[..., 1:]
    return np.asarray((rows_T / np.log(np.arange(2, length + 1))).mean(-1))


def largest_score(scores_TT: Vector) -> Vector:
    """Return the largest score (...) among the visible ones of (..., T, T)."""
    return np.asarray(np.where(np.tri(scores_TT.shape[-1], dtype=bool), scores_TT, -np.inf).max((-1, -2)))


def sink(weights_TT: Vector) -> Vector:
    """Return the mean weight (...) on key 0 (Xiao et al. 2023, arXiv 2309.17453); row 0, which sees no other, apart.

    NaN for a single token.
    """
    if weights_TT.shape[-1] < 2:
        return np.full(weights_TT.shape[:-2], np.nan)
    return np.asarray(weights_TT[..., 1:, 0].mean(-1))


def distance(weights_TT: Vector) -> Vector:
    """Return how many tokens back (...) the weights (..., T, T) lie on average: sum over keys of w (t - key)."""
    places = np.arange(weights_TT.shape[-1])
    back_TT = np.maximum(places[:, None] - places, 0)
    return np.asarray((weights_TT * back_TT).sum(-1).mean(-1))
