"""The model that a run trained, read from one of its checkpoints."""

from pathlib import Path
from typing import TYPE_CHECKING

import cattrs

from andrea_core.data.tokenizer import Tokenizer, from_json
from andrea_core.errors import RunError
from andrea_core.layers import read_toml
from andrea_core.model.settings import ModelSettings, ModelShape
from andrea_core.runs.checkpoint import CheckpointFolder
from andrea_core.runs.folder import SCENARIO, TOKENIZER, require_run

if TYPE_CHECKING:
    from andrea_core.model.gpt import GPT


def trained_model(folder: Path, step: int | None = None) -> tuple["GPT", Tokenizer]:
    """Return the model and tokenizer of a run at a checkpoint (the newest valid one when no step is named).

    Raises RunError when the folder is no run's, or has no such checkpoint.
    """
    from andrea_core.model.gpt import build_model

    require_run(folder)
    checkpoints = CheckpointFolder(folder / "checkpoints")
    chosen = _step(checkpoints, folder, step)
    tokenizer = from_json((folder / TOKENIZER).read_text(encoding="utf-8"))
    shape = _shape(folder)
    model = build_model(shape, tokenizer.vocabulary, 0, "cpu")
    model.load_state_dict(dict(checkpoints.load(chosen).model))
    return model, tokenizer


def set_threads(count: int) -> None:
    """Set the number of CPU threads that PyTorch uses."""
    import torch

    torch.set_num_threads(count)


def _shape(folder: Path) -> ModelShape:
    """Return the model's size from the stored scenario alone: to generate text, no plugin of the run is needed."""
    settings = cattrs.structure(read_toml(folder / SCENARIO).get("model", {}), ModelSettings)
    return settings.resolve()


def _step(checkpoints: CheckpointFolder, folder: Path, step: int | None) -> int:
    if step is None:
        newest, _ = checkpoints.newest_valid()
        if newest is None:
            raise RunError(f"{folder} has no valid checkpoint")
        return newest
    if step not in checkpoints.steps():
        there = ", ".join(map(str, checkpoints.steps())) or "none"
        raise RunError(f"{folder} has no checkpoint of step {step}; there is {there}")
    return step
