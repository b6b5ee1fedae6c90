"""Source gradients: right, in any number of rounds, and without a trace in the model."""

import math
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from andrea_core.data.windows import drawn_windows
from andrea_core.errors import RunError
from andrea_core.model import gradients
from andrea_core.model.gradients import GradientMeter, gradient_tables, refuse_excess
from andrea_core.model.trainer import Trainer

Make = Callable[..., Trainer]
Batches = list[tuple[np.ndarray, np.ndarray]]
SEPARATOR = 18


def windows(*sizes: int, length: int = 17) -> list[np.ndarray]:
    """Random windows (n, length) of each of some sources."""
    rng = np.random.default_rng(5)
    return [rng.integers(0, 18, (n, length)) for n in sizes]


def by_backward(trainer: Trainer, found: np.ndarray) -> np.ndarray:
    """The gradient (P,) of the mean loss, by the textbook way."""
    model = trainer.model
    model.zero_grad(set_to_none=True)
    tokens = torch.from_numpy(found)
    model.token_losses(tokens[:, :-1], tokens[:, 1:]).mean().backward()
    flat = np.concatenate([p.grad.numpy().astype(np.float64).ravel() for p in model.parameters()])
    model.zero_grad(set_to_none=True)
    return flat


def source(name: str, train: int, heldout: int) -> SimpleNamespace:
    rng = np.random.default_rng(len(name))

    def side(count: int) -> SimpleNamespace:
        offsets = np.array([0, count // 2, count]) if count else np.array([0])
        return SimpleNamespace(tokens=rng.integers(0, 18, count).astype(np.uint16), offsets=offsets)

    return SimpleNamespace(name=name, train=side(train), heldout=side(heldout))


def corpus(*sources: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(tokenizer=SimpleNamespace(separator=SEPARATOR), sources=sources)


def test_tables_are_the_inner_products_of_the_gradients(make_trainer: Make) -> None:
    trainer, train, heldout = make_trainer(), windows(3, 1, 2), windows(2, 2, 4, length=9)
    found = gradient_tables(trainer.model, train, heldout)
    g = np.stack([by_backward(trainer, one) for one in train])
    h = np.stack([by_backward(trainer, one) for one in heldout])

    np.testing.assert_allclose(found.train, g @ g.T, rtol=1e-5)
    np.testing.assert_allclose(found.heldout, g @ h.T, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found.train, found.train.T)
    assert found.train.dtype == np.float64


@pytest.mark.parametrize("held", [1, 2, 3, 4])
def test_with_little_memory_the_same_comes_in_several_rounds(make_trainer: Make, held: int) -> None:
    trainer, train, heldout = make_trainer(), windows(1, 2, 0, 3, 2), windows(1, 0, 2, 2, 1)
    size = 4 * sum(p.numel() for p in trainer.model.parameters())
    whole = gradient_tables(trainer.model, train, heldout)
    parts = gradient_tables(trainer.model, train, heldout, held_bytes=held * size)

    np.testing.assert_allclose(parts.train, whole.train, rtol=1e-9)
    np.testing.assert_allclose(parts.heldout, whole.heldout, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("held", [1, 2, 3, 5])
def test_the_number_of_backward_passes_is_the_one_that_is_refused_by(
    make_trainer: Make, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    trainer, calls = make_trainer(), []
    size = sum(p.numel() for p in trainer.model.parameters())
    inner = gradients._gradient
    monkeypatch.setattr(gradients, "_gradient", lambda *given: calls.append(0) or inner(*given))
    gradient_tables(trainer.model, windows(*[1] * 5), windows(*[1] * 5), held_bytes=4 * size * held)
    monkeypatch.setattr(gradients, "MOST_PASSES", len(calls))
    refuse_excess(5, size, 4 * size * held)
    monkeypatch.setattr(gradients, "MOST_PASSES", len(calls) - 1)

    with pytest.raises(RunError, match=f"{held} held together, would take {len(calls)} backward passes"):
        refuse_excess(5, size, 4 * size * held)


def test_a_source_without_windows_has_no_entries(make_trainer: Make) -> None:
    found = gradient_tables(make_trainer().model, windows(2, 0, 1), windows(0, 1, 1))

    assert np.isnan(found.train).tolist() == [[False, True, False], [True] * 3, [False, True, False]]
    assert np.isnan(found.heldout).tolist() == [[True, False, False], [True] * 3, [True, False, False]]


def test_products_that_are_not_finite_become_nan(make_trainer: Make) -> None:
    trainer = make_trainer()
    with torch.no_grad():
        trainer.model.head.weight.fill_(math.inf)
    found = gradient_tables(trainer.model, windows(1, 1), windows(1, 1))

    assert np.isnan(found.train).all()
    assert np.isnan(found.heldout).all()


def test_the_model_the_optimiser_and_the_generators_are_left_to_the_bit(make_trainer: Make, batches: Batches) -> None:
    trainer = make_trainer(dropout=0.3)
    for inputs, targets in batches[:3]:
        trainer.step(inputs, targets)
    trainer.model.blocks[0].eval()

    def everything() -> list[bytes]:
        model, optimiser, extra = trainer.state()
        grads = [p.grad for p in trainer.model.parameters()]
        tensors = [*model.values(), *optimiser.values(), *grads]
        modes = bytes(module.training for module in trainer.model.modules())
        return [t.numpy().tobytes() for t in tensors] + [np.asarray(v).tobytes() for v in extra.values()] + [modes]

    before = everything()
    gradient_tables(trainer.model, windows(2, 2), windows(2, 2))

    assert everything() == before
    assert torch.is_grad_enabled()


def test_dropout_is_off_in_gradients(make_trainer: Make) -> None:
    trainer = make_trainer(dropout=0.5)
    once, again = (gradient_tables(trainer.model, windows(2), windows(2)) for _ in range(2))

    assert once.train.tobytes() == again.train.tobytes()


def test_a_meter_draws_fresh_text_for_each_phase_and_the_same_for_the_same(make_trainer: Make) -> None:
    text = corpus(source("birds", 400, 200), source("ships", 300, 0))
    meter = GradientMeter(make_trainer().model, text, seed=1)
    both = np.array([True, True])
    first, again, later = (meter.measure(both, phase) for phase in (0, 0, 1))

    assert first.train.tobytes() == again.train.tobytes()
    assert first.heldout.tobytes() == again.heldout.tobytes()
    assert (first.train != later.train).all()
    assert np.isfinite(first.heldout[:, 0]).all()
    assert np.isnan(first.heldout[:, 1]).all()


def test_a_source_that_is_closed_changes_nothing_for_the_others(make_trainer: Make) -> None:
    meter = GradientMeter(make_trainer().model, corpus(source("birds", 400, 200), source("ships", 300, 90)), seed=1)
    both, alone = (meter.measure(np.array([True, ships]), 4) for ships in (True, False))

    assert alone.train[0, 0] == pytest.approx(both.train[0, 0], rel=1e-12)
    assert np.isnan(alone.train[1]).all()
    assert np.isnan(alone.heldout[:, 1]).all()


def test_drawn_windows_are_stretches_of_the_stream_from_anywhere_in_it() -> None:
    tokens, offsets = np.arange(20), np.array([0, 8, 20])
    stream = [99, *range(8), 99, *range(8, 20)]
    places = {tuple(stream[i : i + 5]): i for i in range(len(stream) - 4)}
    rng = np.random.default_rng(0)
    drawn = drawn_windows(tokens, offsets, separator=99, context=4, count=500, rng=rng)
    starts = [places[tuple(window)] for window in drawn.tolist()]

    assert set(starts) == set(range(len(stream) - 4))


def test_a_short_text_gives_one_shorter_window_and_none_gives_none() -> None:
    rng = np.random.default_rng(0)
    short = drawn_windows(np.arange(3), np.array([0, 3]), separator=9, context=8, count=4, rng=rng)
    none = drawn_windows(np.arange(0), np.array([0]), separator=9, context=8, count=4, rng=rng)

    assert short.tolist() == [[9, 0, 1, 2]]
    assert none.shape == (0, 9)
