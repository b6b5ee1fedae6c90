"""The objective of a language model: the mean cross-entropy of windows of text, dropout off."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from andrea_core.landscape.objective import Objective, Part
from andrea_core.model.quiet import evaluating

Windows = npt.NDArray[np.integer]

IGNORED = -100
"""A token of a window that is not to be predicted, as padding; PyTorch's number for it."""

LOGITS_A_PART = {"cpu": 2**20, "cuda": 2**25}
"""Logits of one part: what bounds the memory of the graphs."""


def language_objective(
    model: nn.Module,
    windows: Sequence[Windows],
    *,
    dtype: torch.dtype | None = None,
    parameters: Sequence[str] = ("*",),
    vocabulary: int | None = None,
) -> Objective:
    """Return the mean cross-entropy in nats a token of windows (n, T + 1), of any lengths, as a function of parameters.

    Every window predicts its last T tokens; a negative token is not counted, nor seen as anything but token 0. Only
    parameters whose names match one of the patterns vary. `model` maps tokens (B, T) to logits (B, T, V); `vocabulary`
    is its V where it has no attribute of that name. The model is only read: the parameters are copied.
    Raises ValueError when no parameter matches or no token counts.
    """
    named = dict(model.named_parameters())
    chosen = {name: p for name, p in named.items() if any(fnmatchcase(name, pattern) for pattern in parameters)}
    rest = {name: p.detach().to(dtype=dtype, copy=True) for name, p in named.items() if name not in chosen}
    device = next(iter(named.values())).device
    size = int(getattr(model, "vocabulary", None) or vocabulary or 1)
    batches = [torch.from_numpy(batch).to(device) for batch in batched(windows, size, device.type)]
    count = sum(int((batch[:, 1:] >= 0).sum()) for batch in batches)
    return Objective(chosen, [_part(model, batch, rest) for batch in batches], count, dtype)


def batched(windows: Sequence[Windows], vocabulary: int, device: str) -> Iterator[npt.NDArray[np.int64]]:
    """Yield windows as int64 copies of (b, T + 1), a part each; those of one length go together, whoever's they are.

    One window of each of sixteen sources is one part so: products with the Hessian keep its graph.
    """
    lengths = dict.fromkeys(part.shape[1] for part in windows)
    for length in lengths:
        tokens = np.concatenate([np.asarray(part, np.int64) for part in windows if part.shape[1] == length])
        logits_a_row = max(1, (length - 1) * vocabulary)
        rows = max(1, LOGITS_A_PART.get(device, LOGITS_A_PART["cpu"]) // logits_a_row)
        for start in range(0, len(tokens), rows):
            yield tokens[start : start + rows]


def _part(model: nn.Module, tokens: Tensor, rest: Mapping[str, Tensor]) -> Part:
    inputs = tokens[:, :-1].clamp(min=0)
    targets = torch.where(tokens[:, 1:] < 0, IGNORED, tokens[:, 1:]).flatten()

    def total(parameters: Mapping[str, Tensor]) -> Tensor:
        with evaluating(model):
            logits = functional_call(model, {**rest, **parameters}, (inputs,))
        return functional.cross_entropy(logits.flatten(0, 1), targets, ignore_index=IGNORED, reduction="sum")

    return total
