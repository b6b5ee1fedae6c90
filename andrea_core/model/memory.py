"""Predicts the memory of training before it starts, and refuses a run that will not fit."""

from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from andrea_core.errors import RunError
from andrea_core.model.settings import ModelShape, OptimizerSettings

if TYPE_CHECKING:
    from andrea_core.model.ranks import Ranks

FLOAT = 4
"""Bytes of a number: weights, gradients and moments are float32 everywhere, activations on a CPU."""

SAVED = 17
"""Numbers a position, channel and layer that the forward pass keeps for the gradient.

The inputs of two norms (2), of two projections (2), queries, keys and values (3), the blend and its copy in order (2),
and before and after the GELU, four times as wide (8). Fused attention keeps no scores.
"""

OUTSIDE_LAYERS = 12
"""Numbers a position and channel beside the layers: the embedding, the last norm, and the gradients of one layer."""

LOGITS_HELD = 3
"""Copies of the logits at the peak: themselves, their log-softmax, their gradient."""

AT_ONCE = 2**28
"""Logits that training makes together, as `andrea_core.model.gpt` has it; more are made in parts."""

WORKSPACE = 12 * 2**20
"""What the libraries of matrix products keep for themselves, and what the heap holds back: 5 to 30 MiB on a CPU."""

HEADROOM = 0.95
"""The part of the free memory that may be used."""


@attrs.frozen
class Memory:
    """Bytes that training takes at its peak, beyond what the program itself needs."""

    weights: int
    gradients: int
    optimiser: int
    activations: int
    logits: int
    workspace: int = WORKSPACE
    rewind: int = 0
    """The model and what the optimiser keeps as the phase found them, for a guard that goes back there."""
    copies: int = 0
    """What a checkpoint is copied to while it is written beside the loop, and a whole model for the probes of parts."""

    @property
    def total(self) -> int:
        """All of it."""
        return sum(attrs.astuple(self))

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {shown(size)}" for name, size in attrs.asdict(self).items() if size)
        return f"{shown(self.total)} ({parts})"


def predicted(
    shape: ModelShape,
    optimizer: OptimizerSettings,
    vocabulary: int,
    rows: int,
    *,
    ranks: "Ranks | None" = None,
    parallel: str = "ddp",
    copies: bool = False,
) -> Memory:
    """Return what training of `rows` rows of the whole context takes at once, `micro_rows` of them if that is set.

    Of several `ranks`, it is what this one takes: its share of the rows; with "fsdp" its part of the tensors, and on
    rank 0 a whole model to look at. `copies`: with the copies from which a checkpoint is written; one inside a phase
    holds the phase's beginning too, where the spike guard keeps it to go back to.
    """
    size = 1 if ranks is None else ranks.size
    rows, parted = -(-rows // size), parallel == "fsdp" and size > 1
    padded = -(-vocabulary // shape.pad_vocabulary) * shape.pad_vocabulary
    weights = FLOAT * (shape.parameters(padded) + shape.vectors())
    positions = min(rows, optimizer.micro_rows or rows) * shape.context
    dropouts = 2 if shape.dropout else 0  # a mask and what it left, after each half of a block
    activations = FLOAT * positions * shape.width * (shape.layers * (SAVED + 2 * dropouts) + OUTSIDE_LAYERS)
    logits = FLOAT * LOGITS_HELD * min(positions * padded, max(AT_ONCE, padded))
    kept, held = _kept(shape, optimizer, weights), size if parted else 1
    border = weights + kept if optimizer.spike.action == "rewind" else 0
    copied = weights + kept + border if copies else 0
    copied += weights if parted and ranks is not None and ranks.first else 0
    weights, kept, border = (-(-part // held) for part in (weights, kept, border))
    return Memory(weights, weights, kept, activations, logits, WORKSPACE, border, copied)


def free_memory() -> int | None:
    """Return the bytes that this machine, or the container's limit, leaves to a process; None where that is unknown."""
    found = [size for size in (_available(), _left_in_container()) if size is not None]
    return min(found, default=None)


def refuse_unfit(memory: Memory, free: int | None, where: str) -> None:
    """Raise RunError, with the numbers, when training will not fit into what is free."""
    if free is not None and memory.total > HEADROOM * free:
        raise RunError(
            f"a training step would take about {memory}, and {where} has {shown(free)} free; "
            "choose a smaller model, context or vocabulary, fewer sampler.rows, or optimizer.micro_rows"
            + ('; optimizer.spike.action = "skip" keeps no copy to rewind to' if memory.rewind else "")
        )


def shown(size: int) -> str:
    """Return a number of bytes in words."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.1f} MiB"


def _kept(shape: ModelShape, optimizer: OptimizerSettings, weights: int) -> int:
    """Return the bytes of what the optimiser remembers: two numbers a weight for AdamW, one for Muon and SGD."""
    if optimizer.use == "sgd":
        return weights if optimizer.momentum else 0
    hidden = FLOAT * 12 * shape.layers * shape.width**2
    return 2 * weights - (hidden if optimizer.use == "muon" else 0)


def _available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    sizes = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return sizes[0] if sizes else None


def _left_in_container() -> int | None:
    folder = Path("/sys/fs/cgroup")
    try:
        limit, used = ((folder / name).read_text(encoding="ascii").strip() for name in ("memory.max", "memory.current"))
    except OSError:
        return None
    return None if limit == "max" else max(0, int(limit) - int(used))
