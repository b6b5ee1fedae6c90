"""Losses whose rise under perturbation is known in closed form, as objectives in float64."""

from collections.abc import Callable

import torch
from torch import Tensor

from andrea_core.landscape.objective import Objective


def planted(point: Tensor, loss: Callable[[Tensor], Tensor]) -> Objective:
    """Return the objective of one parameter `x` at a point."""
    return Objective({"x": point.double()}, [lambda parameters: loss(parameters["x"])], 1)


def symmetric(spectrum: Tensor, seed: int = 0) -> Tensor:
    """Return a symmetric matrix of the given eigenvalues in random directions."""
    draw = torch.Generator().manual_seed(seed)
    basis = torch.linalg.qr(torch.randn(len(spectrum), len(spectrum), generator=draw, dtype=torch.float64))[0]
    return basis * spectrum.double() @ basis.T


def quadratic(matrix: Tensor, point: Tensor | None = None, floor: float = 0.0) -> Objective:
    """Return x'Ax / 2 + floor, at its minimum unless a point is given."""
    at = torch.zeros(len(matrix)) if point is None else point
    return planted(at, lambda x: x @ matrix @ x / 2 + floor)


def linear(slope: Tensor, point: Tensor) -> Objective:
    """Return g'x."""
    return planted(point, lambda x: x @ slope.double())
