"""The trainer as it was when its phase began, kept on the device so that a phase can be undone."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import torch
from torch import Tensor

from andrea_core.model.gpt import GPT
from andrea_core.model.optimiser import Optimiser, moments, restore_moments
from andrea_core.model.randomness import random_state, restore_random_state
from andrea_core.model.settings import OptimizerSettings
from andrea_core.model.spikes import SpikeGuard

_MODEL, _KEPT = "border/model/", "border/kept/"
Own = Callable[[Tensor, Tensor], Tensor]


@attrs.frozen(eq=False)
class Border:
    """Copies of a model's tensors and of what its optimiser keeps, the spike guard's losses, the generators' states.

    Of several ranks each holds its own part of the tensors.
    """

    model: Mapping[str, Tensor]
    kept: Mapping[str, Tensor]
    losses: Any
    random: Mapping[str, Any]

    @classmethod
    def of(cls, model: GPT, optimiser: Optimiser, guard: SpikeGuard, device: torch.device) -> "Border":
        """Return copies of what there is now."""
        own = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
        kept = {name: tensor.detach().clone() for name, tensor in moments(model, optimiser).items()}
        return cls(own, kept, guard.state(), random_state(device))

    def back(
        self, model: GPT, optimiser: Optimiser, guard: SpikeGuard, device: torch.device, settings: OptimizerSettings
    ) -> None:
        """Put everything back."""
        with torch.no_grad():
            for name, tensor in model.state_dict().items():
                tensor.copy_(self.model[name])
        restore_moments(model, optimiser, self.kept, settings)
        guard.load(self.losses)
        restore_random_state(device, self.random)

    def packed(self, whole: Callable[[Tensor], Tensor]) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the border as named tensors and as values, for a checkpoint; all ranks take part."""
        tensors = {_MODEL + name: whole(tensor) for name, tensor in self.model.items()}
        tensors |= {_KEPT + name: whole(tensor) for name, tensor in self.kept.items()}
        return tensors, {"losses": self.losses, **self.random}

    @classmethod
    def unpacked(cls, tensors: Mapping[str, Tensor], extra: Mapping[str, Any], model: GPT, own: Own) -> "Border":
        """Return the border that `packed` made into tensors and values, with this rank's part of each."""
        likes = {**model.state_dict(), **dict(model.named_parameters())}
        ours = {name: own(tensor, likes[name]).clone() for name, tensor in _under(_MODEL, tensors)}
        kept = {name: own(tensor, likes[name.rpartition(".")[0]]).clone() for name, tensor in _under(_KEPT, tensors)}
        random = {name: value for name, value in extra.items() if name != "losses"}
        return cls(ours, kept, extra["losses"], random)


def without_border(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors that are no border's."""
    return {name: tensor for name, tensor in tensors.items() if not name.startswith("border/")}


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> list[tuple[str, Tensor]]:
    return [(name.removeprefix(prefix), tensor) for name, tensor in tensors.items() if name.startswith(prefix)]
