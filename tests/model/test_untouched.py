"""Whatever a probe does to model, optimiser or generators is undone bit for bit, also when it raises."""

import hashlib
import random
from collections.abc import Callable

import numpy as np
import pytest
import torch

from andrea_core.model.optimiser import moments
from andrea_core.model.trainer import Trainer
from andrea_core.model.untouched import untouched

Make = Callable[..., Trainer]
Batches = list[tuple[np.ndarray, np.ndarray]]


def fingerprint(trainer: Trainer) -> str:
    """A digest of all that training depends on."""
    model, kept, found = trainer.model, moments(trainer.model, trainer.optimizer), hashlib.sha256()
    for name, tensor in [*model.state_dict().items(), *kept.items()]:
        found.update(name.encode() + tensor.detach().reshape(-1).view(torch.uint8).numpy().tobytes())
    for parameter in model.parameters():
        grad = parameter.grad
        found.update(str((id(grad), parameter.requires_grad)).encode())
        found.update(b"" if grad is None else grad.numpy().tobytes())
    found.update(str([module.training for module in model.modules()]).encode())
    found.update(torch.get_rng_state().numpy().tobytes() + str(random.getstate()).encode())
    found.update(np.random.get_state()[1].tobytes())  # type: ignore[index, union-attr]
    return found.hexdigest()


def weights(trainer: Trainer) -> None:
    trainer.model.positions.weight.data[0, 0] = float("nan")


def zero_sign(trainer: Trainer) -> None:
    trainer.model.positions.weight.data[1, 1] = -0.0


def gradients(trainer: Trainer) -> None:
    for parameter in trainer.model.parameters():
        parameter.grad = None


def gradient_entries(trainer: Trainer) -> None:
    trainer.model.norm.weight.grad.add_(1.0)  # type: ignore[union-attr]


def backward(trainer: Trainer) -> None:
    trainer.model(torch.zeros(1, 3, dtype=torch.long)).sum().backward()


def optimiser(trainer: Trainer) -> None:
    for tensor in moments(trainer.model, trainer.optimizer).values():
        tensor.mul_(2)


def modes(trainer: Trainer) -> None:
    trainer.model.blocks[0].eval()


def frozen(trainer: Trainer) -> None:
    trainer.model.norm.weight.requires_grad_(False)


def part(trainer: Trainer) -> None:
    trainer.model.norm = torch.nn.LayerNorm(trainer.model.shape.width)


def replaced(trainer: Trainer) -> None:
    norm = trainer.model.norm
    norm.weight = torch.nn.Parameter(norm.weight.detach() * 2)


def added(trainer: Trainer) -> None:
    trainer.model.extra = torch.nn.Parameter(torch.zeros(3))


def reshaped(trainer: Trainer) -> None:
    trainer.model.norm.weight.data = torch.zeros(3)


def swapped(trainer: Trainer) -> None:
    weight = trainer.model.positions.weight
    weight.data = weight.data + 1


CHANGES = [
    part,
    replaced,
    added,
    reshaped,
    swapped,
    weights,
    zero_sign,
    gradients,
    gradient_entries,
    backward,
    optimiser,
    modes,
    frozen,
]


@pytest.fixture(params=["adamw", "muon", "sgd"])
def trainer(
    request: pytest.FixtureRequest, make_trainer: Make, batches: list[tuple[np.ndarray, np.ndarray]]
) -> Trainer:
    made = make_trainer(dropout=0.3, use=request.param)
    with torch.no_grad():
        made.model.positions.weight[1, 1] = 0.0
    for inputs, targets in batches[:2]:
        made.step(inputs, targets)
    with torch.no_grad():
        made.model.positions.weight[1, 1] = 0.0
    return made


def live(trainer: Trainer) -> Callable[[], dict[str, torch.Tensor]]:
    return lambda: moments(trainer.model, trainer.optimizer)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("raises", [False, True])
def test_what_a_block_changes_is_undone_and_told(
    trainer: Trainer, change: Callable[[Trainer], None], raises: bool
) -> None:
    before, told = fingerprint(trainer), list[str]()

    def block() -> None:
        with untouched(trainer.model, live(trainer), trainer.device, told):
            change(trainer)
            torch.rand(3), np.random.rand(2), random.random()
            assert fingerprint(trainer) != before
            if raises:
                raise ZeroDivisionError

    if raises:
        with pytest.raises(ZeroDivisionError):
            block()
    else:
        block()

    assert fingerprint(trainer) == before
    assert told


def test_drawing_random_numbers_is_undone_without_a_word(trainer: Trainer) -> None:
    before, told = fingerprint(trainer), list[str]()
    with untouched(trainer.model, live(trainer), trainer.device, told):
        torch.rand(3), np.random.rand(2), random.random()

    assert fingerprint(trainer) == before
    assert told == []


def test_hooks_are_taken_off_and_told(trainer: Trainer, batches: Batches) -> None:
    told, heard = list[str](), list[str]()
    with untouched(trainer.model, live(trainer), trainer.device, told):
        trainer.model.norm.register_forward_hook(lambda *_: heard.append("module"))
        trainer.model.norm.weight.register_hook(lambda _gradient: heard.append("tensor"))
    trainer.step(*batches[2])

    assert heard == []
    assert len(told) == 2


def test_memory_stays_where_it_was_so_that_views_of_it_stay_views(trainer: Trainer) -> None:
    weight = trainer.model.positions.weight
    place = weight.data_ptr()
    with untouched(trainer.model, live(trainer), trainer.device, []):
        weight.data = weight.data.clone()

    assert weight.data_ptr() == place
