"""Whatever a block does to a model, its optimiser or the global generators is undone at its end, and told."""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import attrs
import numpy as np
import torch
from torch import Tensor, nn

from andrea_core.model.randomness import untouched_generators


@attrs.frozen(eq=False)
class Snapshot:
    """The tensors, gradients and modes of a model, and what its optimiser keeps, at one moment."""

    model: nn.Module
    moments: Callable[[], Mapping[str, Tensor]]
    tensors: dict[str, Tensor]
    live: dict[str, Tensor]
    grads: dict[str, Tensor | None]
    modes: dict[str, bool]
    frozen: dict[str, bool]

    @classmethod
    def of(cls, model: nn.Module, moments: Callable[[], Mapping[str, Tensor]]) -> "Snapshot":
        """Copy all tensors: memory and time of one copy of the model, its gradients and its optimiser's tensors."""
        grads = {name: parameter.grad for name, parameter in model.named_parameters()}
        live = _live(model, moments) | {f"{name}.grad": grad for name, grad in grads.items() if grad is not None}
        return cls(
            model=model,
            moments=moments,
            tensors={name: tensor.detach().clone() for name, tensor in live.items()},
            live=live,
            grads=grads,
            modes={name: module.training for name, module in model.named_modules()},
            frozen={name: parameter.requires_grad for name, parameter in model.named_parameters()},
        )

    def restore(self) -> list[str]:
        """Put everything back as it was, bit for bit, and return the names of what had changed."""
        changed = [name for name, tensor in self.tensors.items() if not _same_bits(tensor, self.live[name])]
        with torch.no_grad():
            for name in changed:
                self.live[name].copy_(self.tensors[name])
        for name, parameter in self.model.named_parameters():
            if parameter.grad is not self.grads[name]:
                parameter.grad = self.grads[name]
                changed.append(f"{name}.grad")
            if parameter.requires_grad != self.frozen[name]:
                parameter.requires_grad_(self.frozen[name])
                changed.append(f"{name}.requires_grad")
        for name, module in self.model.named_modules():
            if module.training != self.modes[name]:
                module.training = self.modes[name]
                changed.append(f"the mode of {name or 'the model'}")
        return changed


@contextmanager
def untouched(
    model: nn.Module, moments: Callable[[], Mapping[str, Tensor]], device: torch.device, told: list[str]
) -> Iterator[None]:
    """Undo at the end, also after an error, what a block changed; `told` receives the names of what it was.

    Parameters, buffers, gradients, the optimiser's tensors (`moments` returns the live ones), and the modes of modules
    are compared bit by bit; the global generators of PyTorch, NumPy and Python are put back without a word.
    """
    before = Snapshot.of(model, moments)
    numpy_state, python_state = np.random.get_state(), random.getstate()
    try:
        with untouched_generators(device):
            yield
    finally:
        np.random.set_state(numpy_state)
        random.setstate(python_state)
        told.extend(before.restore())


def _live(model: nn.Module, moments: Callable[[], Mapping[str, Tensor]]) -> dict[str, Tensor]:
    own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {**own, **{f"optimiser {name}": tensor for name, tensor in moments().items()}}


def _same_bits(first: Tensor, second: Tensor) -> bool:
    # NaN differs from itself and 0 equals -0, so bits are compared, as integers.
    if first.shape != second.shape:
        return False
    one, other = (tensor.detach().reshape(-1).contiguous().view(torch.uint8) for tensor in (first, second))
    return torch.equal(one, other)
