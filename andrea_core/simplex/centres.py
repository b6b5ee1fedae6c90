"""Two centres of a region: equal relative slack, and the middle of a largest inscribed ball."""

import math

from andrea_core.simplex.box import Box, exact_sum, sealed
from andrea_core.simplex.fixup import fix_up
from andrea_core.values import Vector


def relative(box: Box) -> Vector:
    """Return lower + (R / U) * width, R the mass above the floors and U the sum of widths."""
    if box.is_point:
        return box.lower
    return sealed(fix_up(box.lower + (box.above / exact_sum(box.width)) * box.width, box))


def chebyshev(box: Box) -> tuple[Vector, float]:
    """Return the centre (K,) and the radius of a largest ball of the affine hull inside the box.

    Every free coordinate keeps a slack t = min(min u / 2, R / m, R' / m) to both bounds; moving along the hull, a ball
    of radius r changes one coordinate by r * sqrt(1 - 1/m) at most.
    """
    m = len(box.free)
    if box.is_point:
        return box.lower, 0.0
    u = box.width[box.free]
    t = min(float(u.min()) / 2.0, box.above / m, box.below / m)
    spare = exact_sum(u) - 2.0 * m * t
    share = max(0.0, (box.above - m * t) / spare) if spare > 0.0 else 0.0
    w = box.lower.copy()
    w[box.free] += t + share * (u - 2.0 * t)
    return fix_up(w, box), t / math.sqrt(1.0 - 1.0 / m)
