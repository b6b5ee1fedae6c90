"""Losses after the step: right, without a trace in training, kept by a checkpoint, and free when nobody asks."""

from collections import Counter

import attrs
import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from andrea_core.model.settings import PRESETS, OptimizerSettings
from andrea_core.model.trainer import Trainer

Batches = list[tuple[np.ndarray, np.ndarray]]


def make(dropout: float = 0.0, *, loss_after: bool = True) -> Trainer:
    shape = attrs.evolve(PRESETS["tiny"], dropout=dropout)
    settings = OptimizerSettings(lr=3e-3, warmup=5)
    return Trainer(shape, settings, vocabulary=19, rows=4, total_steps=20, seed=3, loss_after=loss_after)


def train(trainer: Trainer, batches: Batches) -> Trainer:
    for inputs, targets in batches:
        trainer.step(inputs, targets)
    return trainer


class Counted(TorchDispatchMode):
    """Counts the operations on tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.counts[str(func)] += 1
        return func(*args, **(kwargs or {}))


def operations(trainer: Trainer, batches: Batches) -> Counter[str]:
    """The operations of one step that is not the first, which also makes the optimiser's memory."""
    train(trainer, batches[:1])
    trainer.begin(4)
    with Counted() as counted:
        train(trainer, batches[1:2])
    return counted.counts


def test_each_steps_rows_are_seen_again_after_its_own_update(batches: Batches) -> None:
    trainer = make()
    expected = []
    for inputs, targets in batches[:5]:
        trainer.step(inputs, targets)
        with torch.no_grad():
            expected.append(trainer.model.row_losses(torch.from_numpy(inputs), torch.from_numpy(targets)).numpy())
    shown = trainer.collect()

    np.testing.assert_array_equal(shown.loss_after, np.array(expected, np.float64))
    assert (shown.loss_after < shown.row_loss).mean() > 0.9


def test_dropout_is_off_and_training_goes_on_bit_for_bit(batches: Batches) -> None:
    with_it, without = train(make(dropout=0.4), batches), train(make(dropout=0.4, loss_after=False), batches)

    assert with_it.collect().row_loss.tobytes() == without.collect().row_loss.tobytes()
    for left, right in zip(with_it.model.parameters(), without.model.parameters(), strict=True):
        assert torch.equal(left, right)
    assert without.collect().loss_after is None


def test_a_checkpoint_inside_a_phase_keeps_them(batches: Batches) -> None:
    straight = train(make(), batches[:9]).collect()
    stopped, fresh = train(make(), batches[:5]), make()
    model, optimiser, extra = stopped.state()
    fresh.load(model, optimiser, extra)
    resumed = train(fresh, batches[5:9]).collect()

    assert resumed.loss_after.tobytes() == straight.loss_after.tobytes()
    assert resumed.row_loss.tobytes() == straight.row_loss.tobytes()


def test_a_step_without_them_has_the_operations_of_plain_training_and_no_other(batches: Batches) -> None:
    trainer = make(loss_after=False)
    found = operations(trainer, batches)
    record = torch.zeros(1, 6)
    with Counted() as plain:
        inputs, targets = (trainer._tokens(tokens) for tokens in batches[2])
        losses = trainer.model.token_losses(inputs, targets)
        loss = losses.mean()
        trainer.optimizer.zero_grad()
        loss.backward()
        norm = trainer._clip()
        trainer.optimizer.step()
        losses, loss = losses.detach(), loss.detach()
        entry = record[0]
        torch.sum(losses, 1, out=entry[:4])
        entry[-2], entry[-1] = loss, norm

    assert found == plain.counts


def test_asking_for_them_adds_one_forward_pass(batches: Batches) -> None:
    more = operations(make(), batches) - operations(make(loss_after=False), batches)

    assert not any("backward" in name for name in more)
    assert sum(count for name, count in more.items() if "scaled_dot_product" in name) == PRESETS["tiny"].layers


def test_a_phase_longer_than_announced_keeps_all(batches: Batches) -> None:
    short, exact = make(), make()
    short.begin(1)
    exact.begin(6)

    assert train(short, batches[:6]).collect().loss_after.shape == (6, 4)
    assert short.collect().loss_after.tobytes() == train(exact, batches[:6]).collect().loss_after.tobytes()
