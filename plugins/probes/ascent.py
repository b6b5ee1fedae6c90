"""The worst perturbation within a ball: automatic projected gradient ascent (Croce, Hein 2020, arXiv 2003.01690).

Shape suffixes: n entries of all parameters together.
"""

import math
from typing import TYPE_CHECKING

from andrea_plugins.probes.perturbing import normal

if TYPE_CHECKING:
    from torch import Tensor

    from andrea_core import Objective

MOMENTUM = 0.75
PROGRESS = 0.75  # the share of steps since the last checkpoint that must have raised the loss to keep the step size


def worst_rise(
    objective: "Objective", scale_n: "Tensor", radius: float, norm: float, steps: int, seed: int
) -> tuple[float, float]:
    """Return the largest rise of the loss found at theta + scale * z, |z|_p <= radius, and what the last step added.

    `norm` p is 2 or infinity. The ascent starts from a random point of the ball's surface and is compared with one
    gradient step from the centre. It needs no division by `scale`: entries that are 0 do not move.
    """
    base = objective.loss()
    tried = [_start(objective, scale_n, radius, norm), _projected(normal(objective, seed), radius, norm, fill=True)]
    rises = [objective.loss(scale_n * z_n) - base for z_n in tried]
    best = max(range(2), key=lambda index: rises[index])
    return _climb(objective, scale_n, radius, norm, steps, tried[best], rises[best], base)


def _climb(
    objective: "Objective",
    scale_n: "Tensor",
    radius: float,
    norm: float,
    steps: int,
    z_n: "Tensor",
    rise: float,
    base: float,
) -> tuple[float, float]:
    best_n, best, before_n, size, gain = z_n, rise, z_n, 2 * radius, 0.0
    last, raised, best_at_check = rise, 0, rise
    checks, since = checkpoints(steps), 0
    for step in range(1, steps + 1):
        slope_n = _steepest(scale_n * objective.gradient(scale_n * z_n), norm)
        plain_n = _projected(z_n + size * slope_n, radius, norm)
        share = MOMENTUM if step > 1 else 1.0
        next_n = _projected(z_n + share * (plain_n - z_n) + (1 - share) * (z_n - before_n), radius, norm)
        before_n, z_n = z_n, next_n
        rise = objective.loss(scale_n * z_n) - base
        raised, last, since = raised + (rise > last), rise, since + 1
        gain = max(rise - best, 0.0)
        if rise > best:
            best_n, best = z_n, rise
        if step in checks:
            if raised < PROGRESS * since or best == best_at_check:
                size, z_n, before_n, last = size / 2, best_n, best_n, best
            raised, since, best_at_check = 0, 0, best
    return best, gain


def checkpoints(steps: int) -> frozenset[int]:
    """Return the steps at which the step size may be halved: their distances shrink from 22 % to 6 % of all steps."""
    places, share, width = set(), 0.22, 0.22
    while share <= 1:
        places.add(math.ceil(round(share * steps, 9)))
        width = max(width - 0.03, 0.06)
        share += width
    return frozenset(places)


def _start(objective: "Objective", scale_n: "Tensor", radius: float, norm: float) -> "Tensor":
    return radius * _steepest(scale_n * objective.gradient(), norm)


def _steepest(gradient_n: "Tensor", norm: float) -> "Tensor":
    """Return the direction of length 1 in the norm along which the loss rises fastest; 0 for no slope."""
    if norm == math.inf:
        return gradient_n.sign()
    length = gradient_n.norm()
    return gradient_n / length if length > 0 else gradient_n


def _projected(z_n: "Tensor", radius: float, norm: float, *, fill: bool = False) -> "Tensor":
    """Return the nearest point of the ball; with `fill`, the point of its surface in the same direction."""
    if norm == math.inf:
        return z_n.sign() * radius if fill else z_n.clamp(-radius, radius)
    length = float(z_n.norm())
    return z_n * (radius / length) if length > 0 and (fill or length > radius) else z_n
