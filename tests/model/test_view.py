"""What probes see: losses and samples that are right, and a training that does not notice."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
import torch

from andrea_core.data.tokenizer import ByteTokenizer
from andrea_core.model.gpt import GPT, build_model
from andrea_core.model.quiet import quiet
from andrea_core.model.randomness import untouched_generators
from andrea_core.model.settings import PRESETS
from andrea_core.model.trainer import Trainer
from andrea_core.model.view import ModelView

Make = Callable[..., Trainer]
Batches = list[tuple[np.ndarray, np.ndarray]]


class Letters:
    """A tokenizer of 18 letters of three bytes each, and the separator 18."""

    vocabulary, separator = 19, 18
    byte_lengths = np.array([3] * 18 + [0])

    def encode(self, text: str) -> np.ndarray:
        return np.array([ord(letter) - 0x3041 for letter in text], dtype=np.uint16)

    def decode(self, tokens: list[int]) -> str:
        return "".join(chr(0x3041 + token) for token in tokens)


def source(name: str, *lengths: int) -> SimpleNamespace:
    tokens = np.random.default_rng(len(name)).integers(0, 18, sum(lengths)).astype(np.uint16)
    return SimpleNamespace(
        name=name, heldout=SimpleNamespace(tokens=tokens, offsets=np.cumsum([0, *lengths]).astype(np.int64))
    )


CORPUS = SimpleNamespace(
    tokenizer=Letters(), sources=[source("large", 700, 300, 900), source("small", 9), source("none")]
)


@pytest.fixture
def model() -> GPT:
    return build_model(attrs.evolve(PRESETS["tiny"], dropout=0.3), 19, 0)


@pytest.fixture
def view(model: GPT) -> ModelView:
    return ModelView(model, CORPUS, step=7)  # type: ignore[arg-type]


def test_a_view_knows_where_it_stands(view: ModelView) -> None:
    assert (view.step, view.sources, view.shape.context) == (7, ("large", "small", "none"), 32)


def test_heldout_windows_are_fixed_and_bounded(view: ModelView) -> None:
    windows = view.heldout(0, 330)

    assert windows.shape == (10, 33)
    np.testing.assert_array_equal(windows, view.heldout(0, 330))
    assert view.heldout(1, 330).shape == (1, 10)
    assert view.heldout(2, 330).shape == (0, 33)


def test_token_losses_are_those_of_evaluation_mode_whatever_the_batch(
    model: GPT, view: ModelView, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows = view.heldout(0, 330)
    model.eval()
    with torch.no_grad():
        expected = model.token_losses(torch.from_numpy(windows[:, :-1].copy()), torch.from_numpy(windows[:, 1:].copy()))
    model.train()
    for logits_at_once in (1, 3 * 32 * 19, 10**9):
        monkeypatch.setattr("andrea_core.model.view.LOGITS_AT_ONCE", {"cpu": logits_at_once})
        np.testing.assert_allclose(view.token_losses(windows), expected.numpy(), rtol=1e-5)
    np.testing.assert_allclose(view.row_losses(windows), expected.numpy().sum(1), rtol=1e-5)


def test_no_windows_give_no_losses(view: ModelView) -> None:
    assert view.token_losses(view.heldout(2, 330)).shape == (0, 32)


def test_bits_per_byte_count_neither_the_nats_nor_the_bytes_of_separators(view: ModelView) -> None:
    windows = np.array([[18, 1, 2, 18, 3]])
    losses = view.token_losses(windows)[0]

    assert view.bits_per_byte(windows) == pytest.approx((losses[0] + losses[1] + losses[3]) / math.log(2) / 9)


def test_bits_per_byte_of_chance_are_the_logarithm_of_the_vocabulary(model: GPT, view: ModelView) -> None:
    with torch.no_grad():
        model.head.weight.zero_()

    assert view.bits_per_byte(view.heldout(0, 330)) == pytest.approx(math.log2(19) / 3, rel=1e-6)


def test_the_error_of_bits_per_byte_is_that_of_a_mean_over_equal_windows(view: ModelView) -> None:
    windows = np.random.default_rng(0).integers(1, 10, (6, 9))
    bits, error = view.bits_and_error(windows)
    each = np.array([view.bits_per_byte(window[None]) for window in windows])
    bytes_each = view.tokenizer.byte_lengths[windows[:, 1:]].sum(1)

    assert bits == pytest.approx(np.average(each, weights=bytes_each))
    assert error == pytest.approx(
        math.sqrt(6 / 5 * (((each - bits) * bytes_each) ** 2).sum()) / bytes_each.sum(), rel=1e-5
    )
    assert math.isnan(view.bits_and_error(windows[:1])[1])


def test_bits_per_byte_without_text_are_missing(view: ModelView) -> None:
    assert math.isnan(view.bits_per_byte(view.heldout(2, 330)))


def test_generated_text_follows_the_generator_and_leaves_the_prompt_out(view: ModelView) -> None:
    texts = [view.generate("ぃぅ", 30, 1.0, 0, np.random.default_rng(seed)) for seed in (1, 1, 2)]

    assert texts[0] == texts[1] != texts[2]
    assert len(texts[0]) == 30
    assert set(texts[0]) <= {chr(0x3041 + token) for token in range(18)} | {"\n"}


def test_a_generated_separator_begins_a_new_line(model: GPT, view: ModelView) -> None:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(1.0 if name == "norm.weight" else 0.0)
        model.positions.weight[:, 0] = 1.0
        model.head.weight[18, 0] = 9.0
    text = view.generate("", 3, 0.0, 0, np.random.default_rng(0))

    assert text == "\n\n\n"


def test_the_byte_tokenizer_gives_text_whatever_bytes_are_drawn() -> None:
    corpus = SimpleNamespace(tokenizer=ByteTokenizer(), sources=[])
    view = ModelView(build_model(PRESETS["tiny"], 257, 0), corpus, step=0)  # type: ignore[arg-type]
    text = view.generate("Grüße", 40, 1.0, 0, np.random.default_rng(0))

    assert "\ufffd" in text
    assert 10 < len(text) <= 40


def test_looking_leaves_training_bit_for_bit_as_it_was(make_trainer: Make, batches: Batches) -> None:
    def train(look: bool) -> dict[str, torch.Tensor]:
        trainer = make_trainer(dropout=0.3)
        trainer.model.blocks[1].eval()  # a module's own mode must come back too
        for inputs, targets in batches:
            trainer.step(inputs, targets)
            if look:
                view = ModelView(trainer.model, CORPUS, trainer.steps_done)  # type: ignore[arg-type]
                view.bits_per_byte(view.heldout(0, 100))
                view.generate("ぃぅ", 5, 0.8, 3, np.random.default_rng(1))
        assert trainer.model.training
        assert not trainer.model.blocks[1].training
        return trainer.state()[0] | trainer.state()[1]

    without, with_ = train(False), train(True)

    assert all(torch.equal(without[name], with_[name]) for name in without)


def fail_inside(context: AbstractContextManager[None], act: Callable[[], object]) -> None:
    with context:
        act()
        raise ZeroDivisionError


def test_modes_return_after_an_error(model: GPT) -> None:
    model.blocks[0].eval()
    before, inside = [module.training for module in model.modules()], []
    with pytest.raises(ZeroDivisionError):
        fail_inside(quiet(model), lambda: inside.extend(module.training for module in model.modules()))

    assert not any(inside)
    assert [module.training for module in model.modules()] == before
    assert torch.is_grad_enabled()


def test_generators_return_even_after_an_error() -> None:
    before = torch.get_rng_state()
    with pytest.raises(ZeroDivisionError):
        fail_inside(untouched_generators(torch.device("cpu")), lambda: torch.randn(3))

    assert torch.equal(before, torch.get_rng_state())
