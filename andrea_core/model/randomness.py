"""The states of PyTorch's global generators as arrays."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


def random_state(device: torch.device) -> dict[str, Any]:
    """Return the global generator states, the CPU's and the device's, as uint8 arrays."""
    state = {"rng_cpu": torch.get_rng_state().numpy().copy()}
    if device.type == "cuda":
        state["rng_device"] = torch.cuda.get_rng_state(device).numpy().copy()
    if device.type == "mps":
        state["rng_device"] = torch.mps.get_rng_state().numpy().copy()
    return state


def restore_random_state(device: torch.device, state: Mapping[str, Any]) -> None:
    """Set the global generators to what `random_state` returned; one of another device is passed over."""
    torch.set_rng_state(_tensor(state["rng_cpu"]))
    if device.type == "cuda" and "rng_device" in state:
        torch.cuda.set_rng_state(_tensor(state["rng_device"]), device)
    if device.type == "mps" and "rng_device" in state:
        torch.mps.set_rng_state(_tensor(state["rng_device"]))


@contextmanager
def untouched_generators(device: torch.device) -> Iterator[None]:
    """Give the global generators their present state back at the end, also after an error."""
    state = random_state(device)
    try:
        yield
    finally:
        restore_random_state(device, state)


def _tensor(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(array, dtype=np.uint8))
