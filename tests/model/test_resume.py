"""Resume: a trainer put back from its state goes on bit for bit."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file as load_arrays, save_file as save_arrays
from safetensors.torch import load_file, save_file

from andrea_core.errors import RunError
from andrea_core.model.trainer import Trainer

Make = Callable[..., Trainer]
Batches = list[tuple[np.ndarray, np.ndarray]]


def walk(trainer: Trainer, batches: Batches, start: int, stop: int, phase: int = 6) -> list[np.ndarray]:
    """Train steps [start, stop) with a new phase every `phase` steps; return what each finished phase showed."""
    shown = []
    for step in range(start, stop):
        if step % phase == 0:
            shown.append(trainer.collect().row_loss)
            trainer.begin(phase)
        trainer.step(*batches[step])
    return shown


def resumed(trainer: Trainer, make: Callable[[], Trainer], folder: Path) -> Trainer:
    """Send a state through files into a new trainer, and disturb what must not matter."""
    model, optimiser, extra = trainer.state()
    numbers = {name: value for name, value in extra.items() if not isinstance(value, np.ndarray)}
    save_file(model, folder / "model.safetensors")
    save_file(optimiser, folder / "optimizer.safetensors")
    save_arrays({name: extra[name] for name in extra.keys() - numbers.keys()}, folder / "arrays.safetensors")
    fresh = make()
    torch.manual_seed(999)
    kept: Mapping[str, Any] = json.loads(json.dumps(numbers)) | load_arrays(folder / "arrays.safetensors")
    fresh.load(load_file(folder / "model.safetensors"), load_file(folder / "optimizer.safetensors"), kept)
    return fresh


def kept(trainer: Trainer) -> dict[str, np.ndarray]:
    """Copy all that a trainer's state holds into arrays by name."""
    model, optimiser, extra = trainer.state()
    tensors = {
        f"{part}/{name}": t.numpy().copy()
        for part in ("", "adam")
        for name, t in (optimiser if part else model).items()
    }
    return tensors | {name: np.array(value) for name, value in extra.items()}


def assert_same_bits(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> None:
    assert left.keys() == right.keys()
    assert [name for name in left if left[name].tobytes() != right[name].tobytes()] == []


@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize("cuts", [[0], [1], [6], [7], [20], [7, 7], [3, 13], [0, 5, 6, 19]], ids=str)
def test_twenty_steps_equal_any_cuts_and_the_rest(
    make_trainer: Make, batches: Batches, tmp_path: Path, dropout: float, cuts: list[int]
) -> None:
    straight = make_trainer(dropout)
    expected, state = walk(straight, batches, 0, 20), kept(straight)
    trainer, shown, done = make_trainer(dropout), [], 0
    for cut in cuts:
        shown += walk(trainer, batches, done, cut)
        trainer, done = resumed(trainer, lambda: make_trainer(dropout, seed=55), tmp_path), cut
    shown += walk(trainer, batches, done, 20)

    assert_same_bits(state, kept(trainer))
    assert [rows.tobytes() for rows in expected] == [rows.tobytes() for rows in shown]


def test_loaded_tensors_are_copies(make_trainer: Make, batches: Batches) -> None:
    source, target = make_trainer(), make_trainer(seed=4)
    source.step(*batches[0])
    model, optimiser, extra = source.state()
    target.load(model, optimiser, extra)
    kept = source.model.head.weight.detach().clone()
    target.step(*batches[1])

    assert torch.equal(kept, source.model.head.weight)
    assert source.state()[1]["head.weight.step"].item() == 1


def test_a_state_before_the_first_step_has_no_moments_and_clears_those_of_the_trainer(
    make_trainer: Make, batches: Batches
) -> None:
    used = make_trainer(seed=4)
    used.step(*batches[0])
    used.load(*make_trainer().state())

    assert used.state()[1] == {}
    assert used.steps_done == used.phase_steps == 0


def test_a_state_of_another_model_is_refused(make_trainer: Make, batches: Batches) -> None:
    source = make_trainer()
    source.step(*batches[0])
    model, optimiser, extra = source.state()
    wide = model | {"head.weight": torch.zeros(3, 32)}
    with pytest.raises(RunError, match=r"head.weight is \(3, 32\) in the checkpoint, \(19, 32\) in the scenario"):
        make_trainer().load(wide, optimiser, extra)
    with pytest.raises(RunError, match=r"lacks tensor head\.weight"):
        make_trainer().load({name: model[name] for name in model if name != "head.weight"}, optimiser, extra)
    with pytest.raises(RunError, match=r"optimiser tensor tokens.weight.step is missing"):
        make_trainer().load(model, {"unknown": torch.zeros(1)}, extra)
