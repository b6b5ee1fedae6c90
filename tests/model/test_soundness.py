"""The model as mathematics: its gradient in double precision, chance at the start, a batch learnt by heart."""

import math

import numpy as np
import pytest
import torch

from andrea_core.model.gpt import build_model
from andrea_core.model.settings import PRESETS, ModelShape, OptimizerSettings
from andrea_core.model.trainer import Trainer

SHAPES = {
    "ours": ModelShape(layers=2, heads=2, width=8, context=6),
    "gpt2": ModelShape(layers=1, heads=2, width=8, context=6, bias=True, tied_head=True, activation="gelu_tanh"),
    "capped": ModelShape(layers=1, heads=1, width=8, context=6, logit_cap=2.0, pad_vocabulary=8),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_gradient_is_the_slope_of_the_loss_in_double_precision(name: str) -> None:
    model = build_model(SHAPES[name], 11, 5).double()
    tokens = torch.from_numpy(np.random.default_rng(1).integers(0, 11, (2, 7)))
    parameters = list(model.parameters())

    def loss() -> torch.Tensor:
        return model.token_losses(tokens[:, :-1], tokens[:, 1:]).mean()

    gradients = torch.autograd.grad(loss(), parameters)
    drawn = torch.Generator().manual_seed(2)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        along = torch.randn(parameter.shape, generator=drawn, dtype=torch.float64)
        ends = []
        for way in (1e-5, -2e-5):
            with torch.no_grad():
                parameter += way * along
                ends.append(loss().item())
        with torch.no_grad():
            parameter += 1e-5 * along
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx((gradient * along).sum().item(), rel=1e-6, abs=1e-9)


def test_the_first_loss_is_that_of_chance() -> None:
    trainer = Trainer(PRESETS["laptop"], OptimizerSettings(), vocabulary=257, rows=2, total_steps=9, seed=0)
    tokens = np.random.default_rng(0).integers(0, 257, (2, 129))
    trainer.step(tokens[:, :-1], tokens[:, 1:])

    assert trainer.collect().loss[0] == pytest.approx(math.log(257), rel=0.02)


def test_a_batch_is_learnt_by_heart() -> None:
    settings = OptimizerSettings(lr=1e-2, warmup=10, weight_decay=0.0, schedule="constant")
    trainer = Trainer(PRESETS["tiny"], settings, vocabulary=19, rows=2, total_steps=200, seed=0)
    tokens = np.random.default_rng(0).integers(0, 19, (2, 33))
    trainer.begin(200)
    for _ in range(200):
        trainer.step(tokens[:, :-1], tokens[:, 1:])

    assert trainer.collect().loss[-1] < 0.05
