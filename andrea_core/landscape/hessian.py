"""Hessian-vector products by double backward, right for every layer that has a second derivative."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from andrea_core.landscape.objective import Objective, Part
from andrea_core.model.products import plain_products

Operator = Callable[[Tensor], Tensor]
"""A symmetric matrix as a function from vectors (n,) to vectors (n,)."""

KEPT_PARTS = 4
"""Parts of which the graph of the gradient is kept from product to product; beyond it is built anew, a third slower."""


class Hessian:
    """H v = d/d theta <g(theta), v> by differentiating the graph of the gradient again (Pearlmutter 1994).

    Not by `torch.func`: jvp of jacrev is wrong through LayerNorm. Attention goes by PyTorch's plain path, since the
    fused ones have no second derivative. While the object lives it holds the graph of up to KEPT_PARTS parts.
    `products` counts the calls.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective, self.products = objective, 0
        keep = len(objective.parts) <= KEPT_PARTS
        objective.cost.gradients += keep
        self._kept = [self._gradients(part) for part in objective.parts] if keep else None

    @property
    def size(self) -> int:
        """The number n of rows."""
        return self.objective.size

    def __call__(self, vector: Tensor) -> Tensor:
        """Return H v (n,) of a vector v (n,)."""
        self.products += 1
        self.objective.cost.products += 1
        pieces = self.objective.split(vector)
        total = torch.zeros(self.size, dtype=self.objective.dtype, device=self.objective.device)
        for index, part in enumerate(self.objective.parts):
            gradients = self._kept[index] if self._kept is not None else self._gradients(part)
            total += self._product(gradients, pieces)
        return total

    def dense(self) -> Tensor:
        """Return the whole matrix (n, n), row by row: for small n."""
        unit = torch.eye(self.size, dtype=self.objective.dtype, device=self.objective.device)
        return torch.stack([self(row) for row in unit])

    def asymmetry(self, first: Tensor, second: Tensor) -> float:
        """Return |u'Hv - v'Hu| / |u'Hv|: rounding, unless the second derivative is wrong or the loss is random."""
        one, other = float(first @ self(second)), float(second @ self(first))
        return abs(one - other) / max(abs(one), abs(other), torch.finfo(self.objective.dtype).tiny)

    def _gradients(self, part: Part) -> tuple[Tensor, ...]:
        with torch.enable_grad(), plain_attention(), plain_products():
            value = part(self.objective.named()) / self.objective.count
            return self.objective.derivatives(value, create_graph=True)

    def _product(self, gradients: tuple[Tensor, ...], pieces: list[Tensor]) -> Tensor:
        # A parameter that enters the loss linearly, or not at all, has a gradient without a graph.
        curved = [(g, v) for g, v in zip(gradients, pieces, strict=True) if g.requires_grad]
        if not curved:
            return torch.zeros(self.size, dtype=self.objective.dtype, device=self.objective.device)
        found = torch.autograd.grad(
            [g for g, _ in curved],
            self.objective.leaves,
            grad_outputs=[v for _, v in curved],
            retain_graph=self._kept is not None,
            allow_unused=True,
            materialize_grads=True,
        )
        return self.objective.flat(found)


def plain_attention() -> AbstractContextManager[None]:
    """Make attention go by PyTorch's plain path, the only one with a second derivative, inside a block."""
    return sdpa_kernel(SDPBackend.MATH)
