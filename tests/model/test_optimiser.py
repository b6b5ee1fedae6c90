"""The optimisers: who owns which parameter, equal steps by hand, memory out and in."""

from collections.abc import Callable

import pytest
import torch

from andrea_core.errors import RunError
from andrea_core.model.gpt import GPT, build_model
from andrea_core.model.optimiser import build_optimiser, moments, restore_moments
from andrea_core.model.settings import ModelShape, OptimizerSettings

SHAPE = ModelShape(layers=2, heads=2, width=8, context=8)
USES = ["adamw", "muon", "sgd"]


def model_with_gradients(seed: int = 1) -> GPT:
    model = build_model(SHAPE, 11, seed)
    tokens = torch.arange(16).reshape(2, 8) % 11
    model.token_losses(tokens, tokens.roll(1, 1)).mean().backward()
    return model


@pytest.mark.parametrize("use", USES)
def test_every_parameter_has_exactly_one_owner_and_gains_do_not_decay(use: str) -> None:
    model = build_model(SHAPE, 11, 1)
    optimiser = build_optimiser(model, OptimizerSettings(use=use))
    owned = [id(p) for group in optimiser.param_groups for p in group["params"]]

    assert sorted(owned) == sorted(id(p) for p in model.parameters())
    for group in optimiser.param_groups:
        assert all(p.ndim == 1 for p in group["params"]) or group["weight_decay"] == 0.1
        assert all(p.ndim == 2 for p in group["params"]) or group["weight_decay"] == 0.0


def test_muon_takes_the_matrices_of_the_blocks_and_adamw_the_rest() -> None:
    model = model_with_gradients()
    optimiser = build_optimiser(model, OptimizerSettings(use="muon"))
    optimiser.step()
    kept = moments(model, optimiser)

    assert {name for name in kept if name.endswith("momentum_buffer")} == {
        f"{name}.momentum_buffer" for name, p in model.named_parameters() if p.ndim == 2 and name.startswith("blocks")
    }
    assert "tokens.weight.exp_avg" in kept
    assert "blocks.0.attention_norm.weight.exp_avg_sq" in kept


def test_a_muon_step_is_a_nearly_orthogonal_matrix_of_adamws_size() -> None:
    model = model_with_gradients()
    settings = OptimizerSettings(use="muon", lr=1e-2, weight_decay=0.0)
    before = model.blocks[0].mlp.up.weight.detach().clone()
    build_optimiser(model, settings).step()
    step = (model.blocks[0].mlp.up.weight.detach() - before) / settings.lr
    singular = torch.linalg.svdvals(step) / (0.2 * 32**0.5)  # 0.2 sqrt(max(rows, columns)), 2502.16982 equation 4

    gradient = torch.linalg.svdvals(model.blocks[0].mlp.up.weight.grad)

    assert singular.max() < 1.5
    assert singular.median() > 0.5
    assert singular.max() / singular.min() < gradient.max() / gradient.min() / 3


def test_sgd_steps_along_the_gradient() -> None:
    model = model_with_gradients()
    settings = OptimizerSettings(use="sgd", lr=0.5, momentum=0.0, weight_decay=0.0)
    wanted = [(p - 0.5 * p.grad).detach() for p in model.parameters() if p.grad is not None]
    build_optimiser(model, settings).step()

    for parameter, expected in zip(model.parameters(), wanted, strict=True):
        torch.testing.assert_close(parameter.detach(), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("settings", [{"use": use} for use in USES] + [{"use": "sgd", "momentum": 0.0}], ids=str)
def test_memory_that_went_out_and_in_gives_the_same_next_step(settings: dict[str, object]) -> None:
    chosen = OptimizerSettings(**settings)  # type: ignore[arg-type]
    one, other = model_with_gradients(), model_with_gradients()
    first, second = build_optimiser(one, chosen), build_optimiser(other, chosen)
    first.step()
    other.load_state_dict(one.state_dict())
    restore_moments(other, second, moments(one, first), chosen)
    first.step()
    second.step()

    for ours, theirs in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("spoil", [lambda t: None, lambda t: t[..., :1]], ids=["missing", "of another shape"])
def test_memory_of_another_model_is_refused(spoil: Callable[[torch.Tensor], torch.Tensor | None]) -> None:
    model = model_with_gradients()
    settings = OptimizerSettings(use="muon")
    optimiser = build_optimiser(model, settings)
    optimiser.step()
    kept = moments(model, optimiser)
    name = "blocks.1.attention.qkv.weight.momentum_buffer"
    changed = spoil(kept.pop(name))

    with pytest.raises(RunError, match=r"blocks.1.attention.qkv.weight.momentum_buffer is .*another model"):
        restore_moments(model, optimiser, kept if changed is None else {**kept, name: changed}, settings)
