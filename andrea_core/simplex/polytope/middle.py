"""The centre of a region with rows: a point that the set alone decides, not how it is stated or in which order."""

import numpy as np

from andrea_core.simplex.box import Box, exact_sum, frozen
from andrea_core.simplex.fixup import fix_up
from andrea_core.simplex.polytope.dual import nearest
from andrea_core.simplex.polytope.lp import FEASIBLE, Rows, Scaled
from andrea_core.values import Mask, Vector

_LESS = 1e-10
"""How much smaller, in proportion, a ball may be than the largest one: it leaves rounding some room."""


def middle(deep: Vector, radius: float, rows: Rows, box: Box, tied: Mask, basis: Vector) -> Vector:
    """Return that centre (K,) of a largest ball which is nearest to equal weights; `deep` is any such centre.

    Largest balls and distances are the set's own: sources that can be exchanged get equal weights, and a bound that
    changes nothing does not move the centre. Where the search for it fails, it is `deep` itself.
    """
    scaled = Scaled.of(box)
    at, radius = scaled.coordinates(deep), radius / scaled.unit * (1.0 - _LESS)
    sides = radius * np.linalg.norm(basis, axis=1)
    lower, upper = np.minimum(sides, at), np.maximum(scaled.upper - sides, at)
    inner = Box(frozen(np.clip(lower, 0.0, scaled.upper)), frozen(np.clip(upper, 0.0, scaled.upper)), scaled.total)
    matrix, limits = rows.one_sided()[0], scaled.limits(*rows.one_sided())
    turning = ~_constant(matrix[:, box.is_free])
    matrix, limits, tied = matrix[turning], limits[turning], tied[turning]
    speeds = np.where(tied, 0.0, radius * np.linalg.norm(matrix @ basis, axis=1))
    shrunk = Rows(matrix, np.full(len(limits), -np.inf), np.maximum(limits - speeds, matrix @ at))
    equal = scaled.coordinates(np.full(len(deep), box.total / len(deep)))
    found = nearest(equal, shrunk, inner, "euclidean")
    if shrunk.excess(found) > FEASIBLE or abs(exact_sum(found) - scaled.total) > FEASIBLE:
        found = at
    return fix_up(scaled.weights(found), box)


def _constant(across: Vector) -> Mask:
    """Return which rows (R, F) of coefficients of the free sources are equal all along: the sum decides their value."""
    spread = across.max(axis=1, initial=-np.inf) - across.min(axis=1, initial=np.inf)
    return np.asarray(spread <= 1e-12)
