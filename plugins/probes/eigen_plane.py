"""The plane of the two sharpest directions: eigenvectors of the Hessian, scaled by their own curvature."""

import math
from typing import TYPE_CHECKING

import numpy as np

from andrea_core import Measurement
from andrea_plugins.probes.curved import eigen_status

if TYPE_CHECKING:
    from torch import Tensor

    from andrea_core import Objective

TOLERANCE = 1e-2
"""Residual of the eigenpairs, of the largest magnitude: a direction within a hundredth of a radian or so."""


def sharpest_plane(
    objective: "Objective", products: int, rng: np.random.Generator
) -> "tuple[Tensor, Tensor, dict[str, Measurement]] | None":
    """Return two directions (n,) of length sqrt(2 / lambda), and `eigenvalues` and `products`; None without two.

    The entry of the largest size is positive, so that a direction does not flip from look to look.
    """
    from andrea_core import Budget, extreme_eigenpairs, standard_normal

    budget, point = Budget(products), objective.point()
    pairs = extreme_eigenpairs(
        objective.hessian(),
        standard_normal(objective.size, rng).to(point),
        largest=2,
        smallest=False,
        tolerance=TOLERANCE,
        budget=budget,
        rng=rng,
    )
    if len(pairs.values) < 2:
        return None
    lengths = [math.sqrt(2 / value) if value > 0 else 1.0 for value in pairs.values]
    one, other = (
        vector * (length * float(vector[vector.abs().argmax()].sign()))
        for vector, length in zip(pairs.vectors, lengths, strict=True)
    )
    status = eigen_status(pairs, objective.dtype.itemsize)
    return (
        one,
        other,
        {
            "eigenvalues": Measurement(np.array(pairs.values), status, ("rank",)),
            "products": Measurement(float(budget.spent)),
        },
    )
