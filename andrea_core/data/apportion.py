"""Which source each row comes from: deterministic apportionment with memory (Tijdeman), or multinomial draws."""

from heapq import heappop, heappush, heappushpop
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from andrea_core.values import Integers, Mask, Vector

FEW = 24
"""Up to so many rows plain numbers are quicker than arrays."""
NEAR = 1e-10
"""Debts, in rows, that differ by less are told apart row by row, in the very order of the additions."""
TOLERANCE = 1e-12
"""Absorbs the rounding of a debt that is the margin exactly; it is far below any margin."""
DYADIC = 2.0**32
"""Debts that are whole multiples of 1 / DYADIC add up without rounding."""
MANY = 2**11
"""Up to so many rows the rounding of a release stays below the tolerance."""

Order = npt.NDArray[np.integer[Any]]


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
    live = np.flatnonzero(weights > 0)
    plan = by_deadline(carry[live], weights[live], rows) if rows > FEW and len(live) > 1 else None
    served = row_by_row(carry[live].tolist(), weights[live].tolist(), rows) if plan is None else plan
    plan = live[served]
    # Recomputed from the counts: adding the weights one by one would gather rounding over a phase.
    return plan, carry + rows * weights - np.bincount(plan, minlength=len(weights))


def row_by_row(owed: list[float], weight: list[float], rows: int) -> list[int]:
    """Return who is served in each row by looking at every source (of positive weight) in every row."""
    margin = _margin(len(weight))
    live = range(len(weight))
    plan = []
    for _ in range(rows):
        for source in live:
            owed[source] += weight[source]
        served = _serve(owed, weight, margin)
        owed[served] -= 1
        plan.append(served)
    return plan


def by_deadline(owed: Vector, weight: Vector, rows: int) -> Integers | None:
    """Return what `row_by_row` does, for several sources at once; None where its rounding would have to decide.

    Under constant weights each service of a source is a job whose release, the first row in which the source may be
    served, and deadline are known beforehand. The rule then is "earliest deadline first" (Liu, Layland 1973), a heap.
    Only comparisons within `NEAR` could come out otherwise than in the row-by-row sums, so then, and when nobody may
    be served, there is no answer.
    """
    margin = _margin(len(weight))
    jobs = np.maximum(np.floor(owed + rows * weight - margin + 2 * TOLERANCE).astype(np.int64) + 1, 0)
    source = np.repeat(np.arange(len(jobs)), jobs)
    number = np.arange(len(source))
    turn = number - (np.cumsum(jobs) - jobs)[source]
    pace, missing = weight[source], turn - owed[source]
    with np.errstate(over="ignore"):  # of weights near 0: refused on the next line
        deadline, release = (1 - margin + missing) / pace, (margin - TOLERANCE + missing) / pace
    if not (np.isfinite(deadline).all() and (release <= rows + 1).all()):
        return None
    order = np.argsort(deadline, kind="stable")
    if _doubtful(owed, weight, rows, release, deadline[order], pace, order):
        return None
    row = np.maximum(np.ceil(release), 1.0).astype(np.int16 if rows < 2**15 else np.int64)
    rank = np.empty_like(order)
    rank[order] = number
    ranks = rank[np.argsort(row, kind="stable")]
    picked = _earliest(ranks.tolist(), np.bincount(row, minlength=rows + 1)[1:].tolist())
    return None if picked is None else np.asarray(source[order[picked]])


def _earliest(ranks: list[int], fresh: list[int]) -> list[int] | None:
    """Return the least rank not yet taken, a row at a time; fresh[row] more of `ranks` are known in a row.

    None when there is no rank to take in a row.
    """
    waiting: list[int] = []
    picked = []
    place = 0
    for count in fresh:
        if count == 1:
            picked.append(heappushpop(waiting, ranks[place]))
            place += 1
            continue
        for rank in ranks[place : place + count]:
            heappush(waiting, rank)
        place += count
        if not waiting:
            return None
        picked.append(heappop(waiting))
    return picked


def _doubtful(
    owed: Vector, weight: Vector, rows: int, release: Vector, deadline: Vector, pace: Vector, order: Order
) -> bool:
    """Return whether a release lies at a row, or two sorted deadlines beside each other, up to `NEAR` rows of debt.

    Where sums never round, releases are certain, and so are ties among sources of one weight: the first of them goes.
    """
    one, other = pace[order[1:]], pace[order[:-1]]
    close = (deadline[1:] - deadline[:-1]) * np.minimum(one, other) < NEAR
    if not close.any() and (np.abs(release - np.rint(release)) * pace).min(initial=1.0) >= NEAR:
        return False
    return rows > MANY or not _dyadic(owed, weight) or bool((close & (one != other)).any())


def _dyadic(owed: Vector, weight: Vector) -> bool:
    """Return whether sums of debts and weights never round."""
    both = np.concatenate([owed, weight]) * DYADIC
    return bool((both == np.rint(both)).all() and np.abs(both).max() < 2.0**40)


def _margin(count: int) -> float:
    return 1 / (2 * count - 2) if count > 1 else 0.0


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


def _serve(owed: list[float], weight: list[float], margin: float) -> int:
    chosen, earliest = -1, float("inf")
    for source, debt in enumerate(owed):
        if debt >= margin - TOLERANCE:
            deadline = (1 - margin - debt) / weight[source]
            if deadline < earliest:
                chosen, earliest = source, deadline
    return chosen if chosen >= 0 else max(range(len(owed)), key=owed.__getitem__)
