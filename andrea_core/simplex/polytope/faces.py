"""Faces of a region with rows: the dimension of a face, and all vertices by Qhull in up to eight dimensions."""

import numpy as np
from scipy.spatial import HalfspaceIntersection, QhullError

from andrea_core.errors import AndreaError
from andrea_core.simplex.polytope.survey import Survey
from andrea_core.values import Vector

MOST_DIMENSIONS = 8
_DIGITS = 9
"""Vertices that agree to this many digits are one."""


def dimension(w: Vector, known: Survey, slack: float) -> int:
    """Return the dimension of the smallest face that holds w (K,): directions of the hull that change nothing met."""
    box, basis = known.box, known.basis
    matrix, limits = known.rows.one_sided()
    met = np.vstack(
        [np.eye(len(w))[(w <= box.lower + slack) | (w >= box.upper - slack)], matrix[limits - matrix @ w <= slack]]
    )
    across = met @ basis
    rank = int(np.linalg.matrix_rank(across, tol=1e-9)) if across.size else 0
    return int(basis.shape[1]) - rank


def every(known: Survey, limit: int) -> list[Vector]:
    """Return all vertices, before the last units of rounding are settled; raises AndreaError for too many of them."""
    basis, centre = known.basis, known.centre
    if basis.shape[1] == 0:
        return [centre]
    if basis.shape[1] > MOST_DIMENSIONS:
        raise AndreaError(
            f"the vertices of a region with rows are listed in up to {MOST_DIMENSIONS} dimensions, this one has "
            f"{basis.shape[1]}; use vertex(scores)"
        )
    places = _corners(known) @ basis.T + centre
    found = {tuple((np.round(w, _DIGITS) + 0.0).tolist()): w for w in places}
    if len(found) > limit:
        raise AndreaError(f"the region has more than {limit} vertices; raise the limit or use vertex(scores)")
    return list(found.values())


def _corners(known: Survey) -> Vector:
    """Return the vertices (V, d) in coordinates of the hull around the centre."""
    box, basis, centre = known.box, known.basis, known.centre
    matrix, limits = known.rows.one_sided()
    sides = np.vstack([matrix[~known.tied], np.eye(len(centre)), -np.eye(len(centre))])
    room = np.concatenate([(limits - matrix @ centre)[~known.tied], box.upper - centre, centre - box.lower])
    across = sides @ basis
    moving = np.linalg.norm(across, axis=1) > 1e-12
    across, room = across[moving], room[moving]
    if across.shape[1] == 1:
        ends = room / across[:, 0]
        return np.array([[ends[across[:, 0] > 0].min()], [ends[across[:, 0] < 0].max()]])
    try:
        return np.asarray(
            HalfspaceIntersection(np.column_stack([across, -room]), np.zeros(basis.shape[1])).intersections
        )
    except QhullError as error:
        raise AndreaError("the vertices of this region with rows are too close together to be told apart") from error
