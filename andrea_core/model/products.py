"""Matrix products of training on a CPU: oneDNN's, where they are faster than those of PyTorch's BLAS.

`functional.linear` in float32 on an x86 CPU goes to the BLAS. Of a layer's three products oneDNN is the faster at two,
its output and the gradient of its input; the BLAS is at the gradient of the weights. Evaluation, generation and the
Hessian keep to `functional.linear`. Shape suffixes: N positions of all rows, I inputs, O outputs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

_BUILT_WITH = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
_ONEDNN: Any = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if _BUILT_WITH else None
"""PyTorch's own way into oneDNN for matrices that lie as usual; None where it was built without."""

_wanted = True


class Linear(nn.Linear):
    """PyTorch's linear layer, computed by `linear`."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x W' + b; (..., I) to (..., O)."""
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight_OI: Tensor, bias_O: Tensor | None = None) -> Tensor:
    """Return x W' + b for x (..., I) as `functional.linear` does, equal up to rounding."""
    if not _pays(x, weight_OI):
        return functional.linear(x, weight_OI, bias_O)
    y_NO: Tensor = _Product.apply(x.flatten(0, -2), weight_OI)  # type: ignore[no-untyped-call]
    y = y_NO.view(*x.shape[:-1], len(weight_OI))
    return y if bias_O is None else y + bias_O


@contextmanager
def plain_products() -> Iterator[None]:
    """Make `linear` be `functional.linear` inside a block: products with the Hessian are a tenth faster by it."""
    global _wanted
    before, _wanted = _wanted, False
    try:
        yield
    finally:
        _wanted = before


def _pays(x: Tensor, weight_OI: Tensor) -> bool:
    return (
        _wanted
        and x.device.type == "cpu"
        and _ONEDNN is not None
        and torch.is_grad_enabled()
        and x.dtype is weight_OI.dtype is torch.float32
        and x.ndim > 1
        and x.numel() > 0
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
    )


class _Product(torch.autograd.Function):
    """x W' for x (N, I) and W (O, I); twice differentiable."""

    @staticmethod
    def forward(ctx: Any, x_NI: Tensor, weight_OI: Tensor) -> Tensor:
        ctx.save_for_backward(x_NI, weight_OI)
        return _product(x_NI, weight_OI)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (g_NO,), (x_NI, weight_OI) = gradients, ctx.saved_tensors
        of_x, of_weight = ctx.needs_input_grad
        # oneDNN's call has no gradient of its own: where one is wanted of this gradient, PyTorch's product is taken.
        times = torch.mm if torch.is_grad_enabled() else lambda g, weight: _product(g, weight.t())
        return times(g_NO, weight_OI) if of_x else None, g_NO.t() @ x_NI if of_weight else None


def _product(x_NI: Tensor, weight_OI: Tensor) -> Tensor:
    y_NO: Tensor = _ONEDNN(x_NI, weight_OI, None, "none", [], "")
    return y_NO
