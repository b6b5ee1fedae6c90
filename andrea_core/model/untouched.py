"""Whatever a block does to a model, its optimiser or the global generators is undone at its end, and told."""

import os
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import torch
from torch import Tensor, nn

from andrea_core.model.randomness import untouched_generators

_NONE = object()


@attrs.frozen(eq=False)
class Place:
    """A dictionary that a model is held together by: a module's attributes, or its parameters, parts or hooks."""

    name: str
    live: dict[Any, Any]
    kept: dict[Any, Any]

    def restore(self) -> list[str]:
        """Put the same objects back in the same order, and return the names of those that were others."""
        changed = [key for key in (self.live | self.kept) if self.live.get(key, _NONE) is not self.kept.get(key, _NONE)]
        if changed or list(self.live) != list(self.kept):
            self.live.clear()
            self.live.update(self.kept)
        return [f"the mode of {self.name}" if key == "training" else f"{key} of {self.name}" for key in changed]


@attrs.frozen(eq=False)
class Snapshot:
    """How a model is put together, its tensors, gradients and modes, and what its optimiser keeps, at one moment."""

    places: list[Place]
    live: dict[str, Tensor]
    stored: dict[str, Tensor]
    """The live tensors' own memory, which stays theirs when a tensor is given another."""
    bits: dict[str, Tensor]
    parameters: dict[str, nn.Parameter]
    grads: dict[str, Tensor | None]
    frozen: dict[str, bool]
    hooks: dict[str, dict[Any, Any]]

    @classmethod
    def of(cls, model: nn.Module, moments: Callable[[], Mapping[str, Tensor]]) -> "Snapshot":
        """Copy all tensors: memory and time of one copy of the model, its gradients and its optimiser's tensors."""
        parameters = dict(model.named_parameters())
        grads = {name: parameter.grad for name, parameter in parameters.items()}
        live = _live(model, moments) | {f"{name}.grad": grad for name, grad in grads.items() if grad is not None}
        return cls(
            places=[place for name, module in model.named_modules() for place in _places(name, module)],
            live=live,
            stored={name: tensor.detach() for name, tensor in live.items()},
            bits={name: tensor.detach().clone() for name, tensor in live.items()},
            parameters=parameters,
            grads=grads,
            frozen={name: parameter.requires_grad for name, parameter in parameters.items()},
            hooks={name: dict(parameter._backward_hooks or {}) for name, parameter in parameters.items()},
        )

    def restore(self) -> list[str]:
        """Put everything back as it was, bit for bit, and return the names of what had changed."""
        changed = [text for place in self.places for text in place.restore()]
        changed += [name for name in self.live if self._restore_tensor(name)]
        for name, parameter in self.parameters.items():
            if parameter.grad is not self.grads[name]:
                parameter.grad = self.grads[name]
                changed.append(f"{name}.grad")
            if parameter.requires_grad != self.frozen[name]:
                parameter.requires_grad_(self.frozen[name])
                changed.append(f"{name}.requires_grad")
            hooks = parameter._backward_hooks
            if hooks is not None and dict(hooks) != self.hooks[name]:
                hooks.clear()
                hooks.update(self.hooks[name])
                changed.append(f"the hooks of {name}")
        return changed

    def _restore_tensor(self, name: str) -> bool:
        live, stored, bits = self.live[name], self.stored[name], self.bits[name]
        moved = live.dtype != stored.dtype or live.shape != stored.shape or live.data_ptr() != stored.data_ptr()
        if moved:
            live.data = stored
        if _same_bits(bits, stored):
            return moved
        with torch.no_grad():
            stored.copy_(bits)
        return True


@contextmanager
def untouched(
    model: nn.Module, moments: Callable[[], Mapping[str, Tensor]], device: torch.device, told: list[str]
) -> Iterator[None]:
    """Undo at the end, also after an error, what a block changed; `told` receives the names of what it was.

    Parameters, buffers, gradients and the optimiser's tensors (`moments` returns the live ones) are compared bit by
    bit, modules by their parts, modes and hooks; the global generators of PyTorch, NumPy and Python are put back
    without a word.
    """
    before = Snapshot.of(model, moments)
    try:
        with all_generators(device):
            yield
    finally:
        told.extend(before.restore())


@contextmanager
def standing_by() -> Iterator[None]:
    """Put the process's settings and all generators back at the end: for what only watches a run."""
    with untouched_settings(), all_generators(torch.device("cuda" if torch.cuda.is_available() else "cpu")):
        yield


@contextmanager
def all_generators(device: torch.device) -> Iterator[None]:
    """Give the global generators of PyTorch, NumPy and Python their present state back at the end."""
    numpy_state, python_state = np.random.get_state(), random.getstate()
    try:
        with untouched_generators(device):
            yield
    finally:
        np.random.set_state(numpy_state)
        random.setstate(python_state)


@contextmanager
def untouched_settings() -> Iterator[None]:
    """Put the process's settings back at the end, also after an error: PyTorch's, NumPy's, and the working folder."""
    before = [(read(), write) for read, write in _SETTINGS]
    try:
        yield
    finally:
        for (value, write), (read, _) in zip(before, _SETTINGS, strict=True):
            if read() != value:  # to set what is set already may set more: a precision of products sets oneDNN's, too
                write(value)


_SETTINGS: list[tuple[Callable[[], Any], Callable[[Any], object]]] = [
    (torch.get_default_device, lambda device: torch.set_default_device(None if device.type == "cpu" else device)),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_grad_enabled, lambda enabled: torch.set_grad_enabled(enabled)),
    (lambda: torch.is_autocast_enabled("cpu"), lambda enabled: torch.set_autocast_enabled("cpu", enabled)),
    (lambda: torch.is_autocast_enabled("cuda"), lambda enabled: torch.set_autocast_enabled("cuda", enabled)),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    (np.geterr, lambda errors: np.seterr(**errors)),
    (Path.cwd, os.chdir),
]
"""How each setting is read and written; the default device first, since others may make tensors."""


def _places(name: str, module: nn.Module) -> Iterator[Place]:
    own, called = vars(module), name or "the model"
    yield Place(called, own, dict(own))
    for held in own.values():
        if isinstance(held, dict):
            yield Place(called, held, dict(held))


def _live(model: nn.Module, moments: Callable[[], Mapping[str, Tensor]]) -> dict[str, Tensor]:
    own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {**own, **{f"optimiser {name}": tensor for name, tensor in moments().items()}}


def _same_bits(first: Tensor, second: Tensor) -> bool:
    # NaN differs from itself and 0 equals -0, so bits are compared, as integers.
    if first.shape != second.shape:
        return False
    one, other = (tensor.detach().reshape(-1).contiguous().view(torch.uint8) for tensor in (first, second))
    return torch.equal(one, other)
