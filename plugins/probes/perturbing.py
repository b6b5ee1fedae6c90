"""What probes that move the parameters share: directions from a seed, rises, and text.

Shape suffixes: n entries of all parameters together.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from andrea_core import Vector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from andrea_core import Integers, ModelView, Objective


def side_windows(view: "ModelView", tokens: int, side: str) -> "list[Integers]":
    """Return windows of one side ("train" or "heldout") of every source that has such text, always the same ones."""
    share = max(1, tokens // max(1, len(view.sources)))
    found = [view.windows(k, share, "train" if side == "train" else "heldout") for k in range(len(view.sources))]
    return [windows for windows in found if len(windows)]


def normal(objective: "Objective", seed: int) -> "Tensor":
    """Return independent standard normal numbers (n,), the same for a seed on every device."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    return torch.randn(objective.size, generator=generator, dtype=objective.dtype).to(objective.device)


def as_offset(objective: "Objective", vector_n: Vector) -> "Tensor":
    """Return a vector (n,) as an objective takes offsets: in its precision, on its device."""
    import torch

    return torch.from_numpy(np.array(vector_n)).to(dtype=objective.dtype, device=objective.device)


def seeds(rng: np.random.Generator, count: int) -> list[int]:
    """Return seeds for PyTorch's generators."""
    return [int(seed) for seed in rng.integers(2**62, size=count)]


def antithetic_rises(
    objective: "Objective", loss: float, drawn: list[int], size: float, scale: "Tensor | None"
) -> Vector:
    """Return, for each seed, the mean rise of the loss at theta + d and theta - d, d = size * scale * u, u normal.

    `scale` (n,) is |theta| for perturbations in proportion to each parameter, None for 1. The pair cancels the slope:
    on a quadratic each rise is exactly size^2 / 2 d'Hd; a loss that is not finite counts as an infinite rise.
    """
    rises = []
    for seed in drawn:
        direction = normal(objective, seed) * size
        if scale is not None:
            direction = direction * scale
        pair = (objective.loss(direction) + objective.loss(-direction)) / 2 - loss
        rises.append(pair if math.isfinite(pair) else math.inf)
    return np.array(rises)


def mixed_batches(windows: "list[Integers]", rows: int) -> "Iterator[list[Integers]]":
    """Yield batches of `rows` windows (the last may have fewer) that take turns over the sources, grouped by length."""
    longest = max((len(of_source) for of_source in windows), default=0)
    turns = [of_source[turn] for turn in range(longest) for of_source in windows if turn < len(of_source)]
    for start in range(0, len(turns), rows):
        batch = turns[start : start + rows]
        lengths = sorted({len(window) for window in batch}, reverse=True)
        yield [np.stack([window for window in batch if len(window) == length]) for length in lengths]


def flat_parameters(view: "ModelView") -> Vector:
    """Return all parameters as one vector (n,) of the model's own precision, float32 or float64."""
    parts = [tensor.cpu().numpy().reshape(-1) for tensor in view.parameters().values()]
    return np.asarray(np.concatenate(parts))
