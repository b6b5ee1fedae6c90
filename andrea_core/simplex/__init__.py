"""Exact geometry of the constrained simplex: regions, projection, vertices, uniform draws, distances."""

from andrea_core.simplex.bounds import Bound, Bounds
from andrea_core.simplex.box import Box
from andrea_core.simplex.distances import effective_number, entropy, hellinger, kl, l2, total_variation
from andrea_core.simplex.groups.stated import Group
from andrea_core.simplex.moments import Estimate
from andrea_core.simplex.nearest import VertexDistance
from andrea_core.simplex.polytope.rows import Row
from andrea_core.simplex.region import Active, Ball, Region
from andrea_core.simplex.volume import LogVolume

__all__ = [
    "Active",
    "Ball",
    "Bound",
    "Bounds",
    "Box",
    "Estimate",
    "Group",
    "LogVolume",
    "Region",
    "Row",
    "VertexDistance",
    "effective_number",
    "entropy",
    "hellinger",
    "kl",
    "l2",
    "total_variation",
]
