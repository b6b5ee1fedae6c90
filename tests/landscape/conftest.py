"""Models and matrices whose curvature is known: planted quadratics, regressions, a small decoder."""

from collections.abc import Callable, Sequence

import attrs
import numpy as np
import pytest
import torch
from torch import Tensor

from andrea_core.landscape.language import language_objective
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


@pytest.fixture(scope="session")
def windows() -> list[np.ndarray]:
    """Windows of three lengths, unequal in number, with ignored tokens in the last."""
    rng = np.random.default_rng(5)
    found = [rng.integers(0, VOCABULARY, (rows, length)) for rows, length in ((5, 9), (3, 6), (2, 9))]
    found[2][:, 6:] = -100
    return found


@pytest.fixture(scope="session")
def trained(windows: list[np.ndarray]) -> GPT:
    """A decoder with LayerNorm, biases, a tied head and live dropout, after 60 steps of Adam."""
    model = build_model(SHAPE, VOCABULARY, 0)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    tokens = torch.from_numpy(windows[0])
    torch.manual_seed(0)
    for _ in range(60):
        optimiser.zero_grad()
        model.token_losses(tokens[:, :-1], tokens[:, 1:]).mean().backward()
        optimiser.step()
    optimiser.zero_grad()
    return model


@pytest.fixture(scope="session")
def language(trained: GPT, windows: list[np.ndarray]) -> Objective:
    """Its loss on the windows, in float64."""
    return language_objective(trained, windows, dtype=torch.float64)


@pytest.fixture(scope="session")
def dense(trained: GPT, windows: list[np.ndarray]) -> Tensor:
    """The whole Hessian, by a way of its own: one batch padded to one length, rows of a double backward."""
    return dense_hessian(trained, windows)


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


@pytest.fixture
def normal() -> Callable[[int, int], Tensor]:
    """Standard normal vectors of a size from a seed."""
    return lambda n, seed=0: torch.randn(n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
