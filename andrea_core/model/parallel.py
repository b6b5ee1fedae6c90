"""Models that several ranks train together: a copy on each (DDP), or a part on each (FSDP2)."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from andrea_core.model.gpt import GPT
from andrea_core.model.held import Whole
from andrea_core.model.precision import Forward
from andrea_core.model.ranks import Ranks


class _Scores(nn.Module):
    """The forward pass as DDP wants to call it."""

    def __init__(self, model: GPT, forward: Forward) -> None:
        super().__init__()
        self.model = model
        self._forward = forward

    def forward(self, tokens_BT: Tensor, targets_BT: Tensor, normaliser: bool) -> tuple[Tensor, Tensor | None]:
        """Return what `Forward` returns."""
        return self._forward(tokens_BT, targets_BT, normaliser=normaliser)


class Replicated(Whole):
    """A model that each rank holds whole; the gradients are averaged while they come (Li et al. 2020, 2006.15704)."""

    def __init__(self, model: GPT, forward: Forward) -> None:
        super().__init__(model, forward)
        device = model.head_weight.device
        devices = [torch.cuda.current_device()] if device.type == "cuda" else None
        self._ddp = DistributedDataParallel(_Scores(model, forward), device_ids=devices, gradient_as_bucket_view=True)

    def __call__(self, tokens_BT: Tensor, targets_BT: Tensor, *, normaliser: bool) -> tuple[Tensor, Tensor | None]:
        """Return the cross-entropy (B, T), and on request log Z (B, T), as `GPT.scores` does."""
        scores: tuple[Tensor, Tensor | None] = self._ddp(tokens_BT, targets_BT, normaliser)
        return scores

    def part(self, *, last: bool) -> AbstractContextManager[Any]:
        """Return where forward and backward of a part of a step run."""
        return nullcontext() if last else self._ddp.no_sync()


class Sharded(Whole):
    """A model of which each rank holds a part of every tensor (Zhao et al. 2023, 2304.11277; FSDP2).

    Rank 0 holds a whole copy besides, to look at: probes need no other rank.
    """

    parted = True

    def __init__(self, model: GPT, forward: Forward, ranks: Ranks) -> None:
        super().__init__(model, forward)
        device = model.head_weight.device
        if ranks.first:
            self.viewed = GPT(model.shape, model.vocabulary).to(device)
        self._first = ranks.first
        mesh = init_device_mesh(device.type, (ranks.size,))
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        self._root = fully_shard(model, mesh=mesh, reshard_after_forward=True)
        for name in ("scores", "row_losses"):
            register_fsdp_forward_method(model, name)
        self.refresh()

    def part(self, *, last: bool) -> AbstractContextManager[Any]:
        """Return where forward and backward of a part of a step run."""
        self._root.set_requires_gradient_sync(last)
        return nullcontext()

    def refresh(self) -> None:
        """Bring `viewed` up to date; all ranks take part."""
        seen = self.viewed.state_dict() if self._first else {}
        with torch.no_grad():
            for name, tensor in self.model.state_dict().items():
                whole = self.whole(tensor)
                if self._first:
                    seen[name].copy_(whole)

    def whole(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the model or the optimiser whole; all ranks take part."""
        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

    def own(self, tensor: Tensor, like: Tensor) -> Tensor:
        """Return this rank's part of a whole tensor, laid out like a parameter."""
        if not isinstance(like, DTensor) or tensor.shape != like.shape:
            return tensor
        return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements)
