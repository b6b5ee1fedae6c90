"""The trainer: what a step does, what a phase showed, v1's faults on demand."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from andrea_core.model.schedule import learning_rate
from andrea_core.model.trainer import Trainer

Make = Callable[..., Trainer]
Batches = list[tuple[np.ndarray, np.ndarray]]


def train(trainer: Trainer, batches: Batches) -> Trainer:
    trainer.begin(len(batches))
    for inputs, targets in batches:
        trainer.step(inputs, targets)
    return trainer


def test_training_on_one_batch_learns_it(make_trainer: Make, batches: Batches) -> None:
    losses = train(make_trainer(warmup=0, lr=1e-2, schedule="constant"), batches[:1] * 60).collect().loss

    assert losses[0] == pytest.approx(math.log(19), abs=0.2)
    assert losses[-1] < 0.5 * losses[0]


def test_a_phase_shows_losses_norms_and_rates_of_its_steps(make_trainer: Make, batches: Batches) -> None:
    trainer = train(make_trainer(), batches[:6])
    shown = trainer.collect()

    assert shown.row_loss.shape == (6, 4)
    assert shown.row_loss.dtype == np.float64
    assert (shown.loss.dtype, shown.loss.shape, shown.grad_norm.shape) == (np.float32, (6,), (6,))
    np.testing.assert_allclose(shown.loss, shown.row_loss.sum(1) / (4 * 32), rtol=1e-5)
    assert np.all(shown.grad_norm > 0)
    assert list(shown.lr) == [learning_rate(step, trainer.settings, 20) for step in range(6)]


def test_a_new_phase_forgets_the_last_one_and_counts_on(make_trainer: Make, batches: Batches) -> None:
    trainer = train(make_trainer(), batches[:6])
    trainer.clear()
    for inputs, targets in batches[6:8]:
        trainer.step(inputs, targets)
    shown = trainer.collect()

    assert (trainer.steps_done, trainer.phase_steps, len(shown.loss)) == (8, 2, 2)
    assert list(shown.lr) == [learning_rate(step, trainer.settings, 20) for step in (6, 7)]


def test_a_phase_longer_than_announced_loses_nothing(make_trainer: Make, batches: Batches) -> None:
    short, exact = make_trainer(), train(make_trainer(), batches[:9])
    short.begin(1)
    for inputs, targets in batches[:9]:
        short.step(inputs, targets)

    np.testing.assert_array_equal(short.collect().row_loss, exact.collect().row_loss)


def test_row_losses_are_those_of_the_weights_before_the_step(make_trainer: Make, batches: Batches) -> None:
    trainer = make_trainer()
    inputs, targets = batches[0]
    with torch.no_grad():
        expected = trainer.model.row_losses(torch.from_numpy(inputs.copy()), torch.from_numpy(targets.copy()))
    trainer.step(inputs, targets)

    np.testing.assert_allclose(trainer.collect().row_loss[0], expected.numpy(), rtol=1e-6)


def test_a_step_equals_adamw_written_out(make_trainer: Make, batches: Batches) -> None:
    trainer = make_trainer(warmup=0, schedule="constant", lr=1e-2, weight_decay=0.5, clip=0.05)
    before = {name: p.detach().clone() for name, p in trainer.model.named_parameters()}
    inputs, targets = (torch.from_numpy(part.copy()) for part in batches[0])
    loss = trainer.model.token_losses(inputs, targets).mean()
    grads = torch.autograd.grad(loss, list(trainer.model.parameters()))
    norm = torch.sqrt(sum((g.double() ** 2).sum() for g in grads))
    trainer.step(inputs, targets)

    for (name, after), grad in zip(trainer.model.named_parameters(), grads, strict=True):
        clipped = grad * min(1.0, 0.05 / (norm.item() + 1e-6))
        decay = 0.5 if after.ndim >= 2 else 0.0
        expected = before[name] * (1 - 1e-2 * decay) - 1e-2 * clipped / (clipped.abs() + 1e-8)
        torch.testing.assert_close(after.detach(), expected, rtol=1e-4, atol=1e-6, msg=name)
    assert trainer.collect().grad_norm[0] == pytest.approx(norm.item(), rel=1e-5)


def test_switched_off_clipping_still_records_the_norm_and_changes_the_step(
    make_trainer: Make, batches: Batches
) -> None:
    # Adam's step hardly depends on the scale of one gradient; a large eps makes the clipping visible.
    free = train(make_trainer(clip=0.0, eps=1.0), batches[:2])
    clipped = train(make_trainer(clip=1e-3, eps=1.0), batches[:2])

    assert free.collect().grad_norm[0] == clipped.collect().grad_norm[0] > 1e-3
    assert not torch.equal(free.model.head.weight, clipped.model.head.weight)


def test_switched_off_decay_leaves_unused_embeddings_where_they_were(make_trainer: Make, batches: Batches) -> None:
    def untouched_row(decay: float) -> tuple[torch.Tensor, torch.Tensor]:
        trainer = make_trainer(weight_decay=decay)
        before = trainer.model.tokens.weight[18].detach().clone()
        train(trainer, [(inputs % 18, targets) for inputs, targets in batches[:3]])
        return before, trainer.model.tokens.weight[18].detach()

    assert torch.equal(*untouched_row(0.0))
    before, after = untouched_row(0.1)
    assert after.norm() < before.norm()


def test_a_loss_that_is_not_finite_is_handed_on(make_trainer: Make, batches: Batches) -> None:
    trainer = make_trainer()
    with torch.no_grad():
        trainer.model.head.weight[0, 0] = math.nan
    train(trainer, batches[:2])

    assert np.isnan(trainer.collect().loss).all()


def test_tensors_and_small_integers_are_taken_like_int64_arrays(make_trainer: Make, batches: Batches) -> None:
    inputs, targets = batches[0]
    read_only = inputs.astype(np.uint16)
    read_only.flags.writeable = False
    arrays, tensors = make_trainer(), make_trainer()
    arrays.step(read_only, targets)
    tensors.step(torch.from_numpy(inputs.copy()), torch.from_numpy(targets.copy()))

    assert torch.equal(arrays.model.head.weight, tensors.model.head.weight)


def test_a_batch_of_the_wrong_size_is_refused(make_trainer: Make, batches: Batches) -> None:
    inputs, targets = batches[0]
    with pytest.raises(ValueError, match=r"a batch is \(4, up to 32\) tokens twice, got inputs \(3, 32\)"):
        make_trainer().step(inputs[:3], targets[:3])


def test_the_seed_decides_everything(make_trainer: Make, batches: Batches) -> None:
    first, again, other = (train(make_trainer(dropout=0.2, seed=seed), batches[:3]) for seed in (1, 1, 2))

    np.testing.assert_array_equal(first.collect().row_loss, again.collect().row_loss)
    assert not np.array_equal(first.collect().row_loss, other.collect().row_loss)
