"""A small trained decoder, its text with unequal windows, and its dense Hessian."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from planted_curvature import SHAPE, VOCABULARY, dense_hessian
from torch import Tensor

from andrea_core.landscape.language import language_objective
from andrea_core.landscape.objective import Objective
from andrea_core.model.gpt import GPT, build_model


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


@pytest.fixture
def normal() -> Callable[[int, int], Tensor]:
    """Standard normal vectors of a size from a seed."""
    return lambda n, seed=0: torch.randn(n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
