"""The model that a run trained, read from one of its checkpoints."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import cattrs

from andrea_core.data.tokenizer import Tokenizer, from_json
from andrea_core.errors import CorpusError, RunError
from andrea_core.layers import read_toml
from andrea_core.model.settings import ModelSettings, ModelShape
from andrea_core.runs.checkpoint import Checkpoint, CheckpointFolder
from andrea_core.runs.folder import SCENARIO, TOKENIZER, require_run
from andrea_core.runs.simulated import refuse_simulated
from andrea_core.runs.soundness import RESTORE

if TYPE_CHECKING:
    from andrea_core.model.gpt import GPT


Tell = Callable[[str], object]
"""Takes a line for the user: which damaged checkpoints were passed over, and why."""


def trained_model(folder: Path, step: int | None = None, tell: Tell = str) -> tuple["GPT", Tokenizer]:
    """Return the model and tokenizer of a run at a checkpoint (the newest valid one when no step is named).

    `tell` is given a line for each newer checkpoint that is damaged. Raises RunError when the folder is no run's, is
    that of a simulated run, or has no such checkpoint.
    """
    return trained_model_at(folder, step, tell)[:2]


def trained_model_at(folder: Path, step: int | None = None, tell: Tell = str) -> tuple["GPT", Tokenizer, int]:
    """Return the same as `trained_model`, and the step of the checkpoint."""
    from andrea_core.model.gpt import build_model

    require_run(folder)
    refuse_simulated(folder, "it can be replayed and reported, but there is nothing to export, score or let write")
    tokenizer, shape = _tokenizer(folder), _shape(folder)
    checkpoint = _checkpoint(folder, step, tell)
    try:
        model = build_model(shape, tokenizer.vocabulary, 0, "cpu")
        model.load_state_dict(dict(checkpoint.model))
    except RuntimeError as error:
        raise RunError(
            f"{folder}: the checkpoint of step {checkpoint.step} does not fit {SCENARIO} and {TOKENIZER}; {RESTORE}"
        ) from error
    return model, tokenizer, checkpoint.step


def set_threads(count: int) -> None:
    """Set the number of CPU threads that PyTorch uses."""
    import torch

    torch.set_num_threads(count)


def _tokenizer(folder: Path) -> Tokenizer:
    try:
        return from_json((folder / TOKENIZER).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RunError(f"{folder} has no {TOKENIZER}; copy the whole run folder, or start the run anew") from error
    except (CorpusError, OSError, ValueError) as error:
        raise RunError(f"{folder / TOKENIZER} is damaged ({error}); {RESTORE}") from error


def _shape(folder: Path) -> ModelShape:
    """Return the model's size from the stored scenario alone: to generate text, no plugin of the run is needed."""
    path = folder / SCENARIO
    try:
        return cattrs.structure(read_toml(path)["model"], ModelSettings).resolve()
    except Exception as error:  # a damaged file can hold anything; cattrs raises groups of errors
        raise RunError(f"{path}: its table [model] cannot be read, the file is damaged; {RESTORE}") from error


def _checkpoint(folder: Path, step: int | None, tell: Tell) -> Checkpoint:
    """Read a checkpoint; when the newest is dropped meanwhile by a run that goes on, read the one that is newest then.

    A run drops a checkpoint only when it has written newer ones.
    """
    checkpoints = CheckpointFolder(folder / "checkpoints")
    if step is not None:
        _refuse_absent(checkpoints, folder, step)
        return checkpoints.load(step)
    with suppress(RunError):
        newest, damage = _newest(checkpoints, folder)
        found = checkpoints.load(newest)
        _pass_over(damage, tell)
        return found
    newest, damage = _newest(checkpoints, folder)
    _pass_over(damage, tell)
    return checkpoints.load(newest)


def _newest(checkpoints: CheckpointFolder, folder: Path) -> tuple[int, list[str]]:
    """Return the step of the newest valid checkpoint and the damage of newer ones; RunError with it when none is."""
    newest, damage = checkpoints.newest_valid()
    if newest is None:
        reason = f"{'; '.join(damage)}; {RESTORE}" if damage else "none has been written yet"
        raise RunError(f"{folder} has no valid checkpoint: {reason}")
    return newest, damage


def _pass_over(damage: list[str], tell: Tell) -> None:
    for text in damage:
        tell(f"passed over: {text}")


def _refuse_absent(checkpoints: CheckpointFolder, folder: Path, step: int) -> None:
    if step not in checkpoints.steps():
        there = ", ".join(map(str, checkpoints.steps())) or "none"
        raise RunError(f"{folder} has no checkpoint of step {step}; there is {there}")
