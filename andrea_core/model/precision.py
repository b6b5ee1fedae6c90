"""How a model is computed: the precision of its products, and compiled or not; "auto" asks the device."""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from andrea_core.model.gpt import GPT
from andrea_core.model.settings import OptimizerSettings

Scores = Callable[..., tuple[Tensor, Tensor | None]]


def uses_bfloat16(settings: OptimizerSettings, device: torch.device) -> bool:
    """Return whether products are made in bfloat16: when asked for, and by "auto" on a CUDA GPU that has it."""
    if settings.precision == "auto":
        return device.type == "cuda" and torch.cuda.is_bf16_supported()
    return settings.precision == "bfloat16"


def compiles(settings: OptimizerSettings, device: torch.device) -> bool:
    """Return whether the model is compiled: when asked for, and by "auto" on CUDA, where it pays."""
    return settings.compile == "on" or (settings.compile == "auto" and device.type == "cuda")


class Forward:
    """The model's forward pass to losses, in the precision of the settings, compiled where they say so.

    The weights stay float32. What cannot be compiled on this machine runs uncompiled, with one warning.
    """

    def __init__(self, model: GPT, settings: OptimizerSettings, device: torch.device) -> None:
        self._model, self._device = model, device
        self.bfloat16, self.compiled = uses_bfloat16(settings, device), compiles(settings, device)
        self._scores: Scores = torch.compile(model.scores, dynamic=False) if self.compiled else model.scores

    def __call__(self, tokens_BT: Tensor, targets_BT: Tensor, *, normaliser: bool) -> tuple[Tensor, Tensor | None]:
        """Return the cross-entropy (B, T), and on request log Z (B, T), as `GPT.scores` does."""
        with self.precision():
            if not self.compiled:
                return self._model.scores(tokens_BT, targets_BT, normaliser=normaliser)
            try:
                return self._scores(tokens_BT, targets_BT, normaliser=normaliser)
            except Exception as error:
                self._give_up(error)
                return self._model.scores(tokens_BT, targets_BT, normaliser=normaliser)

    def precision(self) -> AbstractContextManager[Any]:
        """Return the context in which the model computes; it does nothing for float32."""
        return torch.autocast(self._device.type, torch.bfloat16) if self.bfloat16 else nullcontext()

    def _give_up(self, error: Exception) -> None:
        """Go on uncompiled after an error of the compiler; raises one of another kind."""
        if not type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
            raise error
        self.compiled = False
        first = (str(error).splitlines() or [""])[0]
        warnings.warn(f"the model runs uncompiled: {type(error).__name__}: {first}", RuntimeWarning, stacklevel=3)
