"""What a run asks of the machine: a device, threads, memory; and the weights that it starts from."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from andrea_core.errors import AndreaError
from andrea_core.scenario import Scenario

if TYPE_CHECKING:
    from andrea_core.model.ranks import Ranks


def initial_weights(scenario: Scenario, vocabulary: int) -> dict[str, Any] | None:
    """Return the weights that the scenario starts from; None for random ones."""
    if scenario.model.init_from is None:
        return None
    from andrea_core.model.gpt import build_model
    from andrea_core.model.gpt2 import start_from

    model = build_model(scenario.model.resolve(), vocabulary, 0)
    start_from(model, Path(scenario.model.init_from))
    return model.state_dict()


def refuse_too_large(scenario: Scenario, vocabulary: int, device: str, ranks: "Ranks") -> None:
    """Raise RunError, with the numbers, when training will not fit into the memory that is free for this rank.

    The ranks of a machine without GPUs share its memory equally.
    """
    import torch

    from andrea_core.model.memory import free_memory, predicted, refuse_unfit

    memory = predicted(
        scenario.model.resolve(),
        scenario.optimizer,
        vocabulary,
        scenario.sampler.rows,
        ranks=ranks,
        parallel=scenario.run.parallel,
        copies=device == "cpu" and ranks.first,
    )
    free = torch.cuda.mem_get_info()[0] if device == "cuda" else free_memory()
    if device != "cuda" and free is not None:
        free //= ranks.neighbours
    where = "the GPU" if device == "cuda" else "this machine"
    refuse_unfit(memory, free, where if ranks.size == 1 else f"rank {ranks.index}'s part of {where}")


def machine(device: str, threads: int | None) -> tuple[str, int]:
    """Return the device and the number of threads, both set; raises AndreaError for a device that is not there."""
    import torch

    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device == "auto":
        device = next(name for name in ("cuda", "mps", "cpu") if available[name])
    if not available.get(device, False):
        there = ", ".join(name for name, there in available.items() if there)
        raise AndreaError(f"--device {device}: this machine's PyTorch has none; it has {there}")
    if threads is not None:
        torch.set_num_threads(threads)
    return device, torch.get_num_threads()
