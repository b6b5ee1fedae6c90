"""Products by oneDNN: the numbers and gradients of PyTorch's own, also twice over; where they are not taken."""

import pytest
import torch
from torch.nn import functional

from andrea_core.model import products
from andrea_core.model.products import Linear, linear

needs_onednn = pytest.mark.skipif(products._ONEDNN is None, reason="this PyTorch has no oneDNN")


def drawn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    return numbers.requires_grad_()


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the products that oneDNN makes."""
    calls: list[int] = []
    own = products._product
    monkeypatch.setattr(products, "_product", lambda *pair: calls.append(1) or own(*pair))
    return calls


@needs_onednn
@pytest.mark.parametrize("shape", [(3, 17, 40), (50, 40), (1, 1, 40)], ids=str)
@pytest.mark.parametrize("bias", [False, True])
def test_output_and_gradients_are_pytorchs(shape: tuple[int, ...], bias: bool, taken: list[int]) -> None:
    inputs = [drawn(*shape), drawn(24, 40, seed=1), *([drawn(24, seed=2)] if bias else [])]
    ours, theirs = linear(*inputs), functional.linear(*inputs)
    pull = drawn(*ours.shape, seed=3).detach()

    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    for found, expected in zip(
        torch.autograd.grad(ours, inputs, pull), torch.autograd.grad(theirs, inputs, pull), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)
    assert len(taken) == 2


@needs_onednn
def test_a_gradient_of_the_gradient_is_pytorchs(taken: list[int]) -> None:
    inputs = [drawn(9, 40), drawn(24, 40, seed=1)]

    def bend(product: object) -> tuple[torch.Tensor, ...]:
        value = product(*inputs).sin().sum()
        slopes = torch.autograd.grad(value, inputs, create_graph=True)
        return torch.autograd.grad(sum(slope.square().sum() for slope in slopes), inputs)

    for found, expected in zip(bend(linear), bend(functional.linear), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-3)
    assert taken


@pytest.mark.parametrize("why", ["no gradients", "double", "bfloat16", "one vector", "nothing"])
def test_elsewhere_it_is_pytorchs_to_the_bit(why: str, taken: list[int]) -> None:
    dtype = torch.float64 if why == "double" else torch.float32
    shape = {"one vector": (40,), "nothing": (0, 40)}.get(why, (9, 40))
    x, weight = drawn(*shape, dtype=dtype), drawn(24, 40, seed=1, dtype=dtype)
    with torch.set_grad_enabled(why != "no gradients"), torch.autocast("cpu", torch.bfloat16, why == "bfloat16"):
        assert torch.equal(linear(x, weight), functional.linear(x, weight))

    assert not taken


@needs_onednn
def test_a_frozen_weight_gets_no_gradient_and_the_input_its_own() -> None:
    layer, x = Linear(40, 24, bias=False), drawn(9, 40)
    layer.weight.requires_grad_(False)
    layer(x).sum().backward()

    assert layer.weight.grad is None
    torch.testing.assert_close(x.grad, layer.weight.sum(0).expand(9, 40), rtol=1e-5, atol=1e-5)


def test_inside_the_block_they_are_pytorchs_own_and_after_an_error_no_longer(taken: list[int]) -> None:
    inputs = [drawn(5, 40), drawn(24, 40, seed=1)]

    def act() -> None:
        with products.plain_products():
            assert torch.equal(linear(*inputs), functional.linear(*inputs))
            assert len(taken) == 0
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        act()
    linear(*inputs)

    assert len(taken) == (products._ONEDNN is not None)
