"""Fixtures of the model tests: one thread, a tiny model, fixed batches."""

from collections.abc import Callable, Iterator

import attrs
import numpy as np
import pytest
import torch

from andrea_core.model.settings import PRESETS, OptimizerSettings
from andrea_core.model.trainer import Trainer

ROWS, VOCABULARY, TOTAL = 4, 19, 20


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def batches() -> list[tuple[np.ndarray, np.ndarray]]:
    """Inputs and targets (4, 32) for 20 steps."""
    tokens = np.random.default_rng(7).integers(0, VOCABULARY, (TOTAL, ROWS, 33))
    return [(window[:, :-1], window[:, 1:]) for window in tokens]


@pytest.fixture
def make_trainer() -> Callable[..., Trainer]:
    """Build a tiny trainer; keywords: dropout, seed, and optimiser settings."""

    def make(dropout: float = 0.0, seed: int = 3, **optimiser: object) -> Trainer:
        shape = attrs.evolve(PRESETS["tiny"], dropout=dropout)
        settings = OptimizerSettings(**{"lr": 3e-3, "warmup": 5, **optimiser})  # type: ignore[arg-type]
        return Trainer(shape, settings, vocabulary=VOCABULARY, rows=ROWS, total_steps=TOTAL, seed=seed)

    return make
