"""AdamW with decay on matrices only, and its moments as named tensors."""

from collections.abc import Mapping

import torch
from torch import Tensor

from andrea_core.errors import RunError
from andrea_core.model.gpt import GPT
from andrea_core.model.settings import OptimizerSettings

MOMENTS = ("step", "exp_avg", "exp_avg_sq")
FUSED = ("cpu", "cuda", "mps")


def build_optimiser(model: GPT, settings: OptimizerSettings) -> torch.optim.AdamW:
    """Return AdamW, fused where the device has it, decaying all matrices (embeddings and head too) but no gain."""
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    fused = parameters[0].device.type in FUSED
    betas = (settings.beta1, settings.beta2)
    return torch.optim.AdamW(groups, lr=settings.lr, betas=betas, eps=settings.eps, fused=fused)


def moments(model: GPT, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the optimiser's live tensors as `<parameter>.<moment>`; empty before the first step."""
    found: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        state = optimiser.state.get(parameter, {})
        found |= {f"{name}.{moment}": state[moment] for moment in MOMENTS if moment in state}
    return found


def restore_moments(model: GPT, optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put clones of what `moments` returned back; raises RunError when a tensor is missing or of another shape."""
    optimiser.state.clear()
    if not tensors:
        return
    for name, parameter in model.named_parameters():
        optimiser.state[parameter] = {moment: _take(tensors, name, moment, parameter) for moment in MOMENTS}


def _take(tensors: Mapping[str, Tensor], name: str, moment: str, parameter: Tensor) -> Tensor:
    tensor = tensors.get(f"{name}.{moment}")
    shape = torch.Size() if moment == "step" else parameter.shape
    if tensor is None or tensor.shape != shape:
        got = "missing" if tensor is None else f"of shape {tuple(tensor.shape)}"
        raise RunError(f"the checkpoint's optimiser tensor {name}.{moment} is {got}: it belongs to another model")
    return tensor.detach().clone().to(parameter.device)
