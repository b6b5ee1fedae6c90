"""What a step minimises: parts of a batch, weighted rows, the z-loss; recorded losses stay the plain ones."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from andrea_core.model.trainer import Trainer

Make = Callable[..., Trainer]
Batches = list[tuple[np.ndarray, np.ndarray]]
WEIGHTS = np.array([1.0, 3.0, 0.5, 1.5], np.float32)


def gradients(trainer: Trainer) -> list[torch.Tensor]:
    return [p.grad.clone() for p in trainer.model.parameters()]


def wanted(
    trainer: Trainer, inputs: np.ndarray, targets: np.ndarray, weights: np.ndarray, z: float
) -> list[torch.Tensor]:
    """Gradients of the objective, written out from the logits."""
    logits = trainer.model(torch.from_numpy(inputs))
    log_z = logits.logsumexp(-1)
    losses = log_z - logits.gather(-1, torch.from_numpy(targets)[..., None])[..., 0]
    goal = (torch.from_numpy(weights / weights.mean())[:, None] * (losses + z * log_z**2)).mean()
    return list(torch.autograd.grad(goal, list(trainer.model.parameters())))


@pytest.mark.parametrize("micro_rows", [0, 1, 3, 4, 9])
@pytest.mark.parametrize("z_loss", [0.0, 0.3])
def test_gradients_are_those_of_the_objective_written_out(
    make_trainer: Make, batches: Batches, micro_rows: int, z_loss: float
) -> None:
    trainer = make_trainer(micro_rows=micro_rows, z_loss=z_loss, clip=0.0)
    expected = wanted(trainer, *batches[0], WEIGHTS, z_loss)
    trainer.step(*batches[0], WEIGHTS)

    for want, got in zip(expected, gradients(trainer), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("micro_rows", [1, 2, 3])
def test_accumulated_steps_equal_whole_ones_to_rounding(make_trainer: Make, batches: Batches, micro_rows: int) -> None:
    whole, parts = make_trainer(), make_trainer(micro_rows=micro_rows)
    for batch in batches[:6]:
        whole.step(*batch)
        parts.step(*batch)

    np.testing.assert_allclose(parts.collect().row_loss, whole.collect().row_loss, rtol=1e-5)
    np.testing.assert_allclose(parts.collect().grad_norm, whole.collect().grad_norm, rtol=1e-4)


def test_parts_of_all_rows_and_equal_weights_change_no_bit(make_trainer: Make, batches: Batches) -> None:
    plain, parts = make_trainer(), make_trainer(micro_rows=4)
    for batch in batches[:3]:
        plain.step(*batch)
        parts.step(*batch)

    assert plain.collect().row_loss.tobytes() == parts.collect().row_loss.tobytes()


def test_what_is_recorded_is_the_plain_cross_entropy(make_trainer: Make, batches: Batches) -> None:
    plain, other = make_trainer(), make_trainer(z_loss=0.5)
    plain.step(*batches[0])
    other.step(*batches[0], WEIGHTS)

    np.testing.assert_allclose(other.collect().row_loss, plain.collect().row_loss, rtol=1e-6)
    np.testing.assert_allclose(other.collect().loss, plain.collect().loss, rtol=1e-6)
    assert other.collect().grad_norm[0] != pytest.approx(plain.collect().grad_norm[0], rel=1e-3)


def test_only_the_ratios_of_weights_matter(make_trainer: Make, batches: Batches) -> None:
    ones, more = make_trainer(), make_trainer()
    ones.step(*batches[0], WEIGHTS)
    more.step(*batches[0], 8 * WEIGHTS)

    assert ones.collect().grad_norm[0] == pytest.approx(more.collect().grad_norm[0], rel=1e-5)


def test_row_losses_sum_to_the_losses_of_the_steps(make_trainer: Make, batches: Batches) -> None:
    trainer = make_trainer(micro_rows=3)
    for batch in batches[:4]:
        trainer.step(*batch)
    shown = trainer.collect()

    np.testing.assert_allclose(shown.row_loss.sum(1) / batches[0][0].size, shown.loss, rtol=1e-6)


def test_the_z_loss_pulls_the_normaliser_to_one(make_trainer: Make, batches: Batches) -> None:
    def size(trainer: Trainer) -> float:
        for _ in range(40):
            trainer.step(*batches[0])
        tokens = torch.from_numpy(batches[0][0])
        return trainer.model(tokens).logsumexp(-1).square().mean().item()

    assert size(make_trainer(z_loss=1.0, warmup=0, schedule="constant")) < 0.5 * size(
        make_trainer(warmup=0, schedule="constant")
    )


def test_bfloat16_keeps_float32_weights_and_losses_close(make_trainer: Make, batches: Batches) -> None:
    exact, rough = make_trainer(precision="float32"), make_trainer(precision="bfloat16")
    for batch in batches[:5]:
        exact.step(*batch)
        rough.step(*batch)

    assert {p.dtype for p in rough.model.parameters()} == {torch.float32}
    assert rough.collect().row_loss.tobytes() != exact.collect().row_loss.tobytes()
    np.testing.assert_allclose(rough.collect().loss, exact.collect().loss, rtol=2e-2)


def test_auto_means_float32_and_no_compiler_on_a_cpu(make_trainer: Make) -> None:
    forward = make_trainer().held.forward

    assert not forward.bfloat16
    assert not forward.compiled


def test_what_cannot_be_compiled_runs_uncompiled_with_a_warning(
    make_trainer: Make, batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise torch._dynamo.exc.InternalTorchDynamoError("no compiler here")

    import torch._dynamo.exc

    monkeypatch.setattr(torch, "compile", lambda *_, **__: broken)
    plain, trainer = make_trainer(), make_trainer(compile="on")
    plain.step(*batches[0])
    with pytest.warns(RuntimeWarning, match="the model runs uncompiled: InternalTorchDynamoError: no compiler here"):
        trainer.step(*batches[0])
    trainer.step(*batches[1])

    assert trainer.collect().row_loss[0].tobytes() == plain.collect().row_loss[0].tobytes()
