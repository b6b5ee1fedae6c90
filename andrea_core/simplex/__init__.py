"""Exact geometry of the constrained simplex: regions, projection, vertices, uniform draws, distances."""

from andrea_core.simplex.bounds import Bound, Bounds
from andrea_core.simplex.box import Box
from andrea_core.simplex.distances import effective_number, entropy, hellinger, kl, l2, total_variation
from andrea_core.simplex.region import Active, Ball, Region

__all__ = [
    "Active",
    "Ball",
    "Bound",
    "Bounds",
    "Box",
    "Region",
    "effective_number",
    "entropy",
    "hellinger",
    "kl",
    "l2",
    "total_variation",
]
