"""Keys and values of the tokens that a decoder has read, kept so that each further token costs one position only."""

import attrs
import torch
from torch import Tensor

from andrea_core.model.settings import ModelShape


@attrs.define(eq=False)
class Past:
    """What one layer keeps: `keys` and `values` (B, H, context, D), filled up to `length`."""

    keys: Tensor
    values: Tensor
    length: int = 0

    def extend(self, k_BHTD: Tensor, v_BHTD: Tensor) -> tuple[Tensor, Tensor]:
        """Add T positions and return all keys and values so far; the caller keeps within the context."""
        end = self.length + k_BHTD.shape[2]
        self.keys[:, :, self.length : end] = k_BHTD
        self.values[:, :, self.length : end] = v_BHTD
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]


@attrs.frozen(eq=False)
class Cache:
    """The past of every layer. It holds one text of at most `context` tokens, read from its start."""

    layers: tuple[Past, ...]

    @classmethod
    def empty(cls, shape: ModelShape, rows: int, like: Tensor) -> "Cache":
        """Return a cache for `rows` texts of equal length, of the device and type of `like`."""
        size = (rows, shape.heads, shape.context, shape.width // shape.heads)
        blank = [torch.zeros(2, *size, device=like.device, dtype=like.dtype) for _ in range(shape.layers)]
        return cls(tuple(Past(pair[0], pair[1]) for pair in blank))

    @property
    def length(self) -> int:
        """The number of tokens read."""
        return self.layers[0].length
