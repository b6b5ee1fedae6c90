"""A mean loss as a function of named parameters: its value, gradient and Hessian, added up over parts of the text.

Shape suffixes: n entries of all parameters together, in the order of the names.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from andrea_core.landscape.budget import Cost

if TYPE_CHECKING:
    from andrea_core.landscape.hessian import Hessian

Part = Callable[[Mapping[str, Tensor]], Tensor]
"""Returns the sum (not the mean) of some losses, a scalar, at given parameters."""


class Objective:
    """L(theta) = (sum of the parts' losses) / count: a mean over counted tokens, however unequal the parts are.

    `point` holds the parameters at which everything is taken; they are copied (to `dtype`, if given), so that nothing
    done here can touch the originals. A parameter that two layers share appears once. Vectors are flat, (n,), on the
    parameters' device. `cost` counts what was computed. Raises ValueError without parameters, parts or counted tokens.
    """

    def __init__(
        self, point: Mapping[str, Tensor], parts: Sequence[Part], count: float, dtype: torch.dtype | None = None
    ) -> None:
        if not point or not parts or not count > 0:
            raise ValueError(f"an objective of {len(point)} parameters, {len(parts)} parts, {count:g} tokens is empty")
        self.names = tuple(point)
        self.leaves = [tensor.detach().to(dtype=dtype, copy=True).requires_grad_() for tensor in point.values()]
        self.parts, self.count = tuple(parts), float(count)
        self.sizes = [leaf.numel() for leaf in self.leaves]
        self.cost = Cost()

    @property
    def size(self) -> int:
        """The number n of entries of all parameters."""
        return sum(self.sizes)

    @property
    def dtype(self) -> torch.dtype:
        """The type that everything is computed in."""
        return self.leaves[0].dtype

    @property
    def device(self) -> torch.device:
        """Where everything is computed."""
        return self.leaves[0].device

    def point(self) -> Tensor:
        """Return the parameters as one vector (n,)."""
        return torch.cat([leaf.detach().reshape(-1) for leaf in self.leaves])

    def slices(self) -> dict[str, slice]:
        """Return where each parameter stands in a vector (n,)."""
        ends = torch.tensor([0, *self.sizes]).cumsum(0).tolist()
        return {name: slice(*ends[index : index + 2]) for index, name in enumerate(self.names)}

    def loss(self, offset: Tensor | None = None) -> float:
        """Return the loss at the point, moved by `offset` (n,) if one is given: one forward pass over all parts."""
        self.cost.losses += 1
        with torch.no_grad():
            at = self.named(None if offset is None else self.split(offset))
            return sum(float(part(at)) for part in self.parts) / self.count

    def gradient(self, offset: Tensor | None = None) -> Tensor:
        """Return the gradient (n,) at the point, moved by `offset` (n,) if given; 0 where the loss does not depend."""
        self.cost.gradients += 1
        moved = None if offset is None else self.split(offset)
        total = torch.zeros(self.size, dtype=self.dtype, device=self.device)
        for part in self.parts:
            with torch.enable_grad():
                value = part(self.named(moved)) / self.count
            total += self.flat(self.derivatives(value, create_graph=False))
        return total

    def hessian(self) -> "Hessian":
        """Return the Hessian at the point, a function from vectors (n,) to vectors (n,)."""
        from andrea_core.landscape.hessian import Hessian

        return Hessian(self)

    def named(self, offsets: Sequence[Tensor] | None = None) -> dict[str, Tensor]:
        """Return the parameters by name, moved by `offsets` of their shapes if these are given."""
        values = self.leaves if offsets is None else [a + b for a, b in zip(self.leaves, offsets, strict=True)]
        return dict(zip(self.names, values, strict=True))

    def split(self, vector: Tensor) -> list[Tensor]:
        """Return a vector (n,) cut into the parameters' shapes."""
        pieces = torch.split(vector.to(dtype=self.dtype, device=self.device), self.sizes)
        return [piece.view_as(leaf) for piece, leaf in zip(pieces, self.leaves, strict=True)]

    def flat(self, tensors: Sequence[Tensor]) -> Tensor:
        """Return tensors of the parameters' shapes as one vector (n,)."""
        return torch.cat([tensor.reshape(-1) for tensor in tensors])

    def derivatives(self, value: Tensor, *, create_graph: bool) -> tuple[Tensor, ...]:
        """Return the derivatives of a scalar by each parameter."""
        if not value.requires_grad:
            return tuple(torch.zeros_like(leaf) for leaf in self.leaves)
        return torch.autograd.grad(
            value, self.leaves, create_graph=create_graph, allow_unused=True, materialize_grads=True
        )


def block_of(name: str) -> str:
    """Return the part of the model that a parameter belongs to, as a name for the record.

    >>> block_of("blocks.0.attention.qkv.weight"), block_of("tokens.weight")
    ('blocks_0_attention', 'tokens')
    """
    pieces = name.split(".")
    return "_".join(pieces[: 3 if pieces[0] == "blocks" and len(pieces) > 3 else 1])
