"""The optimisers: AdamW, Muon for the blocks' matrices, SGD; and what they remember as named tensors."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from andrea_core.errors import RunError
from andrea_core.model.gpt import GPT
from andrea_core.model.settings import OptimizerSettings

FUSED = ("cpu", "cuda", "mps")
STATES = ("step", "exp_avg", "exp_avg_sq", "momentum_buffer")
"""All that these optimisers keep of a parameter, by PyTorch's names; each keeps some."""


class Optimiser:
    """One or two of PyTorch's optimisers that step together, each with parameters of its own."""

    def __init__(self, parts: Iterable[torch.optim.Optimizer]) -> None:
        self._parts = tuple(parts)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The parameter groups of all parts; setting a group's `lr` sets the learning rate."""
        return [group for part in self._parts for group in part.param_groups]

    def zero_grad(self) -> None:
        """Drop the gradients."""
        for part in self._parts:
            part.zero_grad(set_to_none=True)

    def pace(self, lr: float, weight_decay: float) -> None:
        """Set the learning rate of all, and the decay of the matrices."""
        for group in self.param_groups:
            group["lr"] = lr
            group["weight_decay"] = weight_decay if group["params"][0].ndim >= 2 else 0.0

    def step(self, skip: Tensor | None = None) -> None:
        """Change the parameters by their gradients; where `skip` (), on the device, is 1, leave everything as it is."""
        for part in self._parts:
            if skip is None:
                part.step()
            elif part.defaults.get("fused"):
                part.found_inf = skip  # type: ignore[attr-defined]  # what a gradient scaler tells fused kernels
                part.step()
            else:
                _step_unless(part, skip)

    def memory(self, parameter: Tensor) -> dict[str, Tensor]:
        """Return the live tensors that are kept of a parameter; none before the first step."""
        for part in self._parts:
            if parameter in part.state:
                kept = part.state[parameter]
                return {name: kept[name] for name in STATES if kept.get(name) is not None}
        return {}

    def remember(self, parameter: Tensor, kept: dict[str, Tensor]) -> None:
        """Set what is kept of a parameter; nothing forgets it."""
        owner = next(part for part in self._parts if _owns(part, parameter))
        owner.state.pop(parameter, None)
        if kept:
            owner.state[parameter] = kept


def _step_unless(part: torch.optim.Optimizer, skip: Tensor) -> None:
    """Step, then put everything back where `skip` is 1: for optimisers that cannot be told."""
    parameters = [parameter for group in part.param_groups for parameter in group["params"]]
    remembered = [kept for p in parameters for kept in part.state.get(p, {}).values() if isinstance(kept, Tensor)]
    before = [(tensor, tensor.detach().clone()) for tensor in (*parameters, *remembered)]
    part.step()
    with torch.no_grad():
        for tensor, old in before:
            tensor.copy_(torch.where(skip > 0, old, tensor))


def build_optimiser(model: GPT, settings: OptimizerSettings) -> Optimiser:
    """Return the optimiser of the settings, fused where the device has it; decay acts on matrices, never on gains.

    Muon (Jordan et al. 2024) takes the matrices of the blocks, with the update's root mean square matched to AdamW's
    (Liu et al. 2025, 2502.16982), so that one `lr` and one `weight_decay` serve both; AdamW takes embeddings, head and
    gains. Queries, keys and values, stored in one matrix, are orthogonalised together.
    """
    parameters = list(model.parameters())
    fused = parameters[0].device.type in FUSED
    if settings.use == "sgd":
        groups = _groups(parameters, settings)
        return Optimiser([torch.optim.SGD(groups, lr=settings.lr, momentum=settings.momentum, fused=fused)])
    if settings.use == "adamw":
        return Optimiser([_adamw(parameters, settings, fused)])
    hidden = [parameter for parameter in model.blocks.parameters() if parameter.ndim == 2]
    ours = {id(parameter) for parameter in hidden}
    rest = [parameter for parameter in parameters if id(parameter) not in ours]
    muon = torch.optim.Muon(
        hidden,
        lr=settings.lr,
        weight_decay=settings.weight_decay,
        momentum=settings.momentum,
        adjust_lr_fn="match_rms_adamw",
    )
    return Optimiser([muon, _adamw(rest, settings, fused)])


def moments(model: GPT, optimiser: Optimiser) -> dict[str, Tensor]:
    """Return the optimiser's live tensors as `<parameter>.<name>`; empty before the first step."""
    return {
        f"{name}.{kind}": tensor
        for name, parameter in model.named_parameters()
        for kind, tensor in optimiser.memory(parameter).items()
    }


def restore_moments(
    model: GPT,
    optimiser: Optimiser,
    tensors: Mapping[str, Tensor],
    settings: OptimizerSettings,
    own: Callable[[Tensor, Tensor], Tensor] = lambda tensor, _like: tensor,
) -> None:
    """Put clones of what `moments` returned back; raises RunError when a tensor is missing or of another shape.

    `own` returns the part of a tensor that goes with a parameter, where that is one of several ranks' parts.
    """
    hidden = {id(parameter) for parameter in model.blocks.parameters() if parameter.ndim == 2}
    for name, parameter in model.named_parameters():
        kinds = _kept(settings, id(parameter) in hidden) if tensors else ()
        kept = {kind: _take(tensors, name, kind, parameter) for kind in kinds}
        optimiser.remember(parameter, {kind: own(tensor, parameter) for kind, tensor in kept.items()})


def _adamw(parameters: Iterable[Tensor], settings: OptimizerSettings, fused: bool) -> torch.optim.AdamW:
    betas = (settings.beta1, settings.beta2)
    return torch.optim.AdamW(_groups(parameters, settings), lr=settings.lr, betas=betas, eps=settings.eps, fused=fused)


def _groups(parameters: Iterable[Tensor], settings: OptimizerSettings) -> list[dict[str, Any]]:
    listed = list(parameters)
    matrices, gains = [p for p in listed if p.ndim >= 2], [p for p in listed if p.ndim < 2]
    return [{"params": matrices, "weight_decay": settings.weight_decay}, {"params": gains, "weight_decay": 0.0}]


def _kept(settings: OptimizerSettings, hidden: bool) -> tuple[str, ...]:
    """Return the names of what is kept of a parameter once steps were taken."""
    if settings.use == "sgd":
        return ("momentum_buffer",) if settings.momentum else ()
    return ("momentum_buffer",) if settings.use == "muon" and hidden else ("step", "exp_avg", "exp_avg_sq")


def _owns(part: torch.optim.Optimizer, parameter: Tensor) -> bool:
    return any(one is parameter for group in part.param_groups for one in group["params"])


def _take(tensors: Mapping[str, Tensor], name: str, kind: str, parameter: Tensor) -> Tensor:
    tensor = tensors.get(f"{name}.{kind}")
    shape = torch.Size() if kind == "step" else parameter.shape
    if tensor is None or tensor.shape != shape:
        got = "missing" if tensor is None else f"of shape {tuple(tensor.shape)}"
        raise RunError(f"the checkpoint's optimiser tensor {name}.{kind} is {got}: it belongs to another model")
    return tensor.detach().clone().to(parameter.device)
