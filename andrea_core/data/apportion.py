"""Which source each row comes from: deterministic apportionment with memory (Tijdeman), or multinomial draws."""

import numpy as np
from numpy.random import Generator

from andrea_core.values import Integers, Mask, Vector


def apportion(carry: Vector, weights: Vector, rows: int) -> tuple[Integers, Vector]:
    """Return the source of each of `rows` rows, and what every source (K,) is owed afterwards, in rows.

    Tijdeman's rule for the chairman assignment problem (Discrete Mathematics 32, 1980): with n sources of positive
    weight, a source may be served once it is owed 1/(2n-2) rows, and of those the one whose debt would first pass
    1 - 1/(2n-2) is. Under constant weights no source is ever further than that from its due. After a jump of the
    weights the bound returns within a few rows. A source of weight 0 is never served, whatever it is owed.

    >>> plan, owed = apportion(np.zeros(3), np.array([0.5, 0.3, 0.2]), 10)
    >>> plan.tolist()
    [0, 1, 0, 2, 0, 1, 0, 2, 1, 0]
    >>> np.bincount(plan).tolist()
    [5, 3, 2]
    """
    live = [int(i) for i in np.flatnonzero(weights > 0)]
    owed, weight = carry.tolist(), weights.tolist()
    margin = 1 / (2 * len(live) - 2) if len(live) > 1 else 0.0
    plan = np.empty(rows, np.int64)
    for row in range(rows):
        for source in live:
            owed[source] += weight[source]
        plan[row] = served = _serve(live, owed, weight, margin)
        owed[served] -= 1
    # Recomputed from the counts: adding the weights one by one would gather rounding over a phase.
    return plan, carry + rows * weights - np.bincount(plan, minlength=len(weights))


def multinomial(weights: Vector, rows: int, rng: Generator) -> Integers:
    """Return the source of each row, drawn independently with the weights as probabilities."""
    live = np.flatnonzero(weights > 0)
    return np.asarray(rng.choice(live, size=rows, p=weights[live] / weights[live].sum()), np.int64)


def restart(carry: Vector, active: Mask) -> Vector:
    """Return the debts after the set of active sources changed.

    What an inactive source was owed is forgiven, never paid; the others keep theirs, shifted so that they sum to 0.
    """
    kept = np.where(active, carry, 0.0)
    return np.where(active, kept - kept.sum() / active.sum(), 0.0)


def _serve(live: list[int], owed: list[float], weight: list[float], margin: float) -> int:
    chosen, earliest = -1, float("inf")
    for source in live:
        # The tolerance absorbs rounding of a debt that is the margin exactly; it is far below any margin.
        if owed[source] >= margin - 1e-12:
            deadline = (1 - margin - owed[source]) / weight[source]
            if deadline < earliest:
                chosen, earliest = source, deadline
    return chosen if chosen >= 0 else max(live, key=owed.__getitem__)
