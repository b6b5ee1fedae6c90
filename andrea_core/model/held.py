"""How a process holds the model that it trains: whole and for itself, or together with other ranks."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from torch import Tensor

from andrea_core.errors import RunError
from andrea_core.model.gpt import GPT
from andrea_core.model.precision import Forward
from andrea_core.model.ranks import Ranks
from andrea_core.model.settings import NO_PARTED_MUON, OptimizerSettings


class Whole:
    """A model that one process holds whole."""

    parted = False
    """Whether this process holds a part only, of the model and of what the optimiser keeps."""

    def __init__(self, model: GPT, forward: Forward) -> None:
        self.viewed = model
        """The model to look at, on rank 0; as of the last `refresh`."""
        self.model, self.forward = model, forward

    def __call__(self, tokens_BT: Tensor, targets_BT: Tensor, *, normaliser: bool) -> tuple[Tensor, Tensor | None]:
        """Return the cross-entropy (B, T), and on request log Z (B, T), as `GPT.scores` does."""
        return self.forward(tokens_BT, targets_BT, normaliser=normaliser)

    def part(self, *, last: bool) -> AbstractContextManager[Any]:
        """Return where a part of a step goes forward and backward; the last makes the gradients the ranks' mean."""
        return nullcontext()

    def refresh(self) -> None:
        """Bring `viewed` up to date; all ranks take part."""

    def whole(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the model or the optimiser whole; all ranks take part."""
        return tensor

    def own(self, tensor: Tensor, like: Tensor) -> Tensor:
        """Return this rank's part of a whole tensor, laid out like a parameter."""
        return tensor


def held(model: GPT, settings: OptimizerSettings, forward: Forward, ranks: Ranks, parallel: str) -> Whole:
    """Return the model as the ranks hold it; raises RunError for what a model in parts cannot do."""
    if ranks.size == 1:
        return Whole(model, forward)
    from andrea_core.model.parallel import Replicated, Sharded  # slow to import, and of no use to one alone

    if parallel == "ddp":
        return Replicated(model, forward)
    if settings.use == "muon":
        raise RunError(f"run.parallel: {NO_PARTED_MUON}")
    return Sharded(model, forward, ranks)
