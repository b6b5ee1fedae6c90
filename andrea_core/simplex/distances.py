"""Distances between weight vectors, their entropy and their effective number of sources."""

import math

import numpy as np

from andrea_core.values import Vector


def total_variation(p: Vector, q: Vector) -> float:
    """Return sum |p - q| / 2 of weights (K,): the share of draws that differ under the best coupling, in [0, 1]."""
    return 0.5 * math.fsum(np.abs(np.asarray(p) - np.asarray(q)).tolist())


def l2(p: Vector, q: Vector) -> float:
    """Return the Euclidean distance of weights (K,)."""
    return math.dist(np.asarray(p).tolist(), np.asarray(q).tolist())


def hellinger(p: Vector, q: Vector) -> float:
    """Return the Hellinger distance sqrt(sum (sqrt p - sqrt q)**2 / 2) of weights (K,), in [0, 1]; safe at zeros."""
    return l2(np.sqrt(p), np.sqrt(q)) / math.sqrt(2.0)


def kl(p: Vector, q: Vector) -> float:
    """Return the Kullback-Leibler divergence sum p log(p / q) in nats; infinite if q is 0 where p is not."""
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    support = p > 0
    if (q[support] <= 0).any():
        return math.inf
    p, q = p[support], q[support]
    return max(0.0, math.fsum((p * (np.log(p) - np.log(q))).tolist()))


def entropy(p: Vector) -> float:
    """Return -sum p log p of weights (K,) in nats, with 0 log 0 = 0."""
    support = np.asarray(p, np.float64)
    support = support[support > 0]
    return max(0.0, -math.fsum((support * np.log(support)).tolist()))


def effective_number(p: Vector) -> float:
    """Return exp(entropy): how many equally weighted sources would be as mixed, between 1 and K."""
    return math.exp(entropy(p))
