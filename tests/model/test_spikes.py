"""The loss-spike guard: which steps it skips, that a skipped step leaves no trace, and resume."""

import json
from collections.abc import Callable

import numpy as np
import pytest
import torch

from andrea_core.model.settings import SpikeSettings
from andrea_core.model.spikes import SpikeGuard, spike_text
from andrea_core.model.trainer import Trainer

Make = Callable[..., Trainer]
Batches = list[tuple[np.ndarray, np.ndarray]]
WATCH = SpikeSettings(action="skip", factor=1.15, window=6)


def judged(losses: list[float], window: int = 4, factor: float = 2.0) -> list[float]:
    guard = SpikeGuard(SpikeSettings(action="skip", factor=factor, window=window), torch.device("cpu"))
    return [guard.judge(step, torch.tensor(loss))[1].item() for step, loss in enumerate(losses)]


@pytest.mark.parametrize(
    ("losses", "spikes"),
    [
        ([1, 1, 1, 1, 2, 1], [0, 0, 0, 0, 0, 0]),
        ([1, 1, 1, 1, 2.1, 1], [0, 0, 0, 0, 1, 0]),
        ([1, 9, 1, 1], [0, 0, 0, 0]),
        ([1, 1, 1, 9], [0, 0, 0, 1]),
        ([1, 1, 1, 1, 9, 9, 9, 9, 9], [0, 0, 0, 0, 1, 1, 1, 0, 0]),
        ([1, 1, 1, 1, float("nan"), float("inf"), 1], [0, 0, 0, 0, 1, 1, 0]),
    ],
    ids=["at the border", "above it", "too early", "half a window", "a lasting rise", "no numbers"],
)
def test_a_spike_is_a_loss_above_the_factor_times_the_median(losses: list[float], spikes: list[float]) -> None:
    assert judged(losses) == spikes


def spoiled(batches: Batches, at: int) -> Batches:
    """Let a step's targets be tokens that a model trained on the other steps does not expect."""
    first = batches[0]
    same = [(first[0], np.zeros_like(first[1]))] * len(batches)
    same[at] = (first[0], np.full_like(first[1], 5))
    return same


@pytest.mark.parametrize("use", ["adamw", "muon", "sgd"])
def test_a_skipped_step_changes_neither_weights_nor_moments(make_trainer: Make, batches: Batches, use: str) -> None:
    trainer = make_trainer(use=use, spike=WATCH, lr=1e-2)
    stream = spoiled(batches, 12)
    for batch in stream[:12]:
        trainer.step(*batch)
    model, moments, _ = trainer.state()
    before = {name: tensor.clone() for name, tensor in (*model.items(), *moments.items())}
    trainer.step(*stream[12])
    model, moments, _ = trainer.state()

    assert trainer.collect().skipped.tolist() == [False] * 12 + [True]
    assert trainer.steps_done == 13
    assert [name for name, tensor in (*model.items(), *moments.items()) if not torch.equal(tensor, before[name])] == []


def test_a_guard_that_skips_nothing_changes_no_bit(make_trainer: Make, batches: Batches) -> None:
    for use in ("adamw", "muon"):
        plain, watched = make_trainer(use=use), make_trainer(use=use, spike=SpikeSettings("skip", 50.0, 4))
        for batch in batches[:10]:
            plain.step(*batch)
            watched.step(*batch)

        assert plain.collect().row_loss.tobytes() == watched.collect().row_loss.tobytes()
        assert not watched.collect().skipped.any()


@pytest.mark.parametrize("cut", [3, 12, 13, 15])
def test_a_resume_skips_the_same_steps(make_trainer: Make, batches: Batches, cut: int) -> None:
    stream = spoiled(batches, 12)
    straight, stopped, fresh = (make_trainer(spike=WATCH, lr=1e-2, seed=seed) for seed in (3, 3, 8))
    for batch in stream:
        straight.step(*batch)
    for batch in stream[:cut]:
        stopped.step(*batch)
    fresh.load(*stopped.state())
    for batch in stream[cut:]:
        fresh.step(*batch)

    assert fresh.collect().skipped.tolist() == straight.collect().skipped.tolist()
    assert fresh.collect().row_loss.tobytes() == straight.collect().row_loss.tobytes()
    assert fresh.collect().median.tobytes() == straight.collect().median.tobytes()


def test_the_state_of_another_window_is_forgotten() -> None:
    guard = SpikeGuard(SpikeSettings("skip", 2.0, 4), torch.device("cpu"))
    guard.load(np.ones(3, np.float32))
    guard.load(None)

    assert json.dumps(guard.state().tolist()) == "[Infinity, Infinity, Infinity, Infinity]"


def test_the_text_names_step_loss_median_and_rows() -> None:
    assert spike_text(7, 3.0, 1.5, "a x 2").split(", its ") == [
        "loss spike: step 7, loss 3.0000 (2.00 times the median 1.5000)",
        "update is skipped; rows of that step: a x 2",
    ]
