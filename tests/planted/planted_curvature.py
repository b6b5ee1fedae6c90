"""Matrices and models whose curvature is known: planted quadratics, and the dense Hessian of a small decoder."""

from collections.abc import Sequence

import attrs
import numpy as np
import torch
from torch import Tensor

from andrea_core.landscape.objective import Objective
from andrea_core.model.gpt import GPT, build_model
from andrea_core.model.settings import ModelShape

VOCABULARY = 11
SHAPE = ModelShape(layers=1, heads=2, width=8, context=8, tied_head=True, bias=True, dropout=0.2)


def rotated(spectrum: Sequence[float], seed: int = 0) -> Tensor:
    """A symmetric matrix with these eigenvalues and random eigenvectors."""
    values = torch.as_tensor(spectrum, dtype=torch.float64)
    basis, _ = torch.linalg.qr(
        torch.randn(len(values), len(values), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    )
    return basis @ torch.diag(values) @ basis.T


def quadratic(matrix: Tensor, at: Tensor | None = None, linear: Tensor | None = None) -> Objective:
    """x'Ax / 2 + b'x in two named parameters, as two parts that add up."""
    n = len(matrix)
    x = torch.zeros(n, dtype=matrix.dtype) if at is None else at
    b = torch.zeros_like(x) if linear is None else linear

    def half(p: dict[str, Tensor]) -> Tensor:
        vector = torch.cat([p["first"], p["second"].reshape(-1)])
        return vector @ matrix @ vector / 4 + b @ vector / 2

    return Objective({"first": x[: n // 2], "second": x[n // 2 :].reshape(-1, 1)}, [half, half], 1.0)


def dense_hessian(model: GPT, windows: list[np.ndarray]) -> Tensor:
    padded = np.full((sum(map(len, windows)), 9), -100)
    row = 0
    for batch in windows:
        padded[row : row + len(batch), : batch.shape[1]] = batch
        row += len(batch)
    tokens = torch.from_numpy(padded)
    inputs, targets = tokens[:, :-1].clamp(min=0), tokens[:, 1:]
    double = build_model(attrs.evolve(SHAPE, dropout=0.0), VOCABULARY, 0).double()
    double.load_state_dict(model.state_dict())
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        counted = double.token_losses(inputs, targets.clamp(min=0))[targets >= 0]
    parameters = list(double.parameters())
    first = torch.cat([g.reshape(-1) for g in torch.autograd.grad(counted.mean(), parameters, create_graph=True)])
    rows = [torch.autograd.grad(entry, parameters, retain_graph=True, materialize_grads=True) for entry in first]
    return torch.stack([torch.cat([piece.reshape(-1) for piece in row]) for row in rows])
