"""Transfer: how much training on each source lowers each source's loss, solved from the drops that mixtures brought."""

import numpy as np

from andrea_core import Vector
from andrea_plugins.policies.mixing import Mask

SMALLEST = 1e-6
"""Directions in which mixtures differ by less than this part of the most are taken as untried, and give 0."""


def one_hot(sources: Mask, turn: int, part: float) -> Vector:
    """Return the smoothed one-hot mixture of a turn, (K,): `part` on one source, the rest even on the other open ones.

    `sources` (K,) marks the open ones. Each sweep over them starts one later than the sweep before, so that none is
    always the first, when losses fall the most.
    """
    places = np.flatnonzero(sources)
    count = len(places)
    mixture = np.zeros(len(sources))
    if count == 1:
        mixture[places] = 1.0
        return mixture
    mixture[places] = (1.0 - part) / (count - 1)
    mixture[places[(turn + turn // count) % count]] = part
    return mixture


def solved(mixtures: Vector, drops: Vector) -> Vector:
    """Return A (K, K), entry (i, j) the drop of source i's loss per unit of source j, from n trials.

    `mixtures` (n, K) are the weights trained on and `drops` (n, K) what they brought, NaN where not known. Least
    squares of least norm, source by source over the trials in which its drop is known: exact when the mixtures span
    all directions, and 0 for what no mixture tried.
    """
    known = ~np.isnan(drops)
    transfer = np.zeros((drops.shape[1], mixtures.shape[1]))
    for pattern in np.unique(known, axis=1).T:
        alike = (known == pattern[:, None]).all(0)
        if pattern.any():
            found = np.linalg.lstsq(mixtures[pattern], drops[np.ix_(pattern, alike)], rcond=SMALLEST)[0]
            transfer[alike] = found.T
    return transfer
