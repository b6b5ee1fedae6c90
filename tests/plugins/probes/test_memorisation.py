"""Memorisation: planted text comes back, other text does not; exposure of canaries; agreement with greedy decoding."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from probed_models import CORPUS, SOURCES, Letters, fingerprint, small_model

from andrea_core.model.generate import Sampling, generate_tokens
from andrea_core.model.gpt import GPT
from andrea_core.model.view import ModelView
from andrea_plugins.probes.memorisation import (
    Memorisation,
    exposure,
    matched,
    rank_exposure,
    text_losses,
    with_other_digits,
)


def trained(windows: np.ndarray, steps: int) -> GPT:
    """A small model trained on windows (n, T + 1) until it knows them."""
    model = small_model(width=32, dropout=0.0)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    text = torch.from_numpy(windows.astype(np.int64))
    for _ in range(steps):
        optimiser.zero_grad()
        model.token_losses(text[:, :-1], text[:, 1:]).mean().backward()
        optimiser.step()
    return model


def test_matches_end_at_the_first_miss() -> None:
    windows = np.array([[9, 1, 2, 3, 4, 5], [9, 1, 2, 3, 4, 5], [9, 1, 2, 3, 4, 5]])
    guesses = np.array([[0, 0, 3, 4, 5], [1, 2, 3, 0, 5], [1, 2, 0, 4, 5]])

    np.testing.assert_array_equal(matched(guesses, windows, 2), [3, 1, 0])


def test_trained_text_is_extracted_and_heldout_text_is_not() -> None:
    view = ModelView(small_model(), CORPUS, 0)  # type: ignore[arg-type]
    model = trained(view.windows(0, 10 * 12), 150)
    before = fingerprint(model)
    probe = Memorisation(windows=10, prefix=4, verbatim=8)
    found, _ = probe.measure(probe.start(SOURCES), ModelView(model, CORPUS, 0), np.random.default_rng(0))  # type: ignore[arg-type]

    assert fingerprint(model) == before
    assert found["extracted"].value[0] > 0.9  # type: ignore[index]
    assert found["extracted_heldout"].value[0] == 0  # type: ignore[index]
    assert found["match"].value[0] > 7 > 2 > found["match_heldout"].value[0]  # type: ignore[index]
    assert np.isnan(found["extracted"].value[1:]).all()  # type: ignore[index]
    assert found["extracted"].status == "missing"


def test_one_pass_agrees_with_greedy_decoding() -> None:
    model = small_model()
    view = ModelView(model, CORPUS, 0)  # type: ignore[arg-type]
    windows = view.windows(0, 600)
    counted = matched(view.guesses(windows), windows, 3)
    for window, count in zip(windows[:12], counted, strict=False):
        said = list(generate_tokens(model, window[:4], 9, Sampling(0.0), np.random.default_rng(0)))
        agreed = np.cumprod(np.array(said) == window[4:]).sum()
        assert agreed == count


def test_a_rank_gives_its_exposure_and_random_ranks_give_one_over_ln_2_on_average() -> None:
    others = np.arange(1.0, 256.0)
    assert rank_exposure(0.5, others) == 8
    assert rank_exposure(999.0, others) == 0
    assert math.isnan(rank_exposure(math.nan, others))
    losses = np.random.default_rng(1).random((4000, 256))
    found = [rank_exposure(float(row[0]), row[1:]) for row in losses]
    exact = 8 - np.log2(np.arange(1, 257)).mean()
    assert np.mean(found) == pytest.approx(exact, abs=4 * np.std(found) / math.sqrt(4000))
    assert exact == pytest.approx(1 / math.log(2), abs=0.03)


class Digits(Letters):
    """Ten digits in the place of the letters."""

    def encode(self, text: str) -> np.ndarray:
        return np.array([int(letter) for letter in text if letter.isdigit()], dtype=np.uint16)


def test_a_planted_canary_is_exposed_and_one_that_was_not_trained_on_is_not() -> None:
    corpus = SimpleNamespace(tokenizer=Digits(), sources=CORPUS.sources)
    planted = np.array([[10, *map(int, text)] for text in ("3141592653", "1111111111")])
    noise = np.random.default_rng(2).integers(0, 10, (60, 11))
    noise[:, 0] = 10
    model = trained(np.vstack([planted, noise]), 150)
    view, before = ModelView(model, corpus, 0), fingerprint(model)  # type: ignore[arg-type]
    strangers = tuple(f"{number:010d}" for number in np.random.default_rng(3).integers(10**10, size=12))
    probe = Memorisation(canaries=("3141592653", *strangers, "no digits"), references=255)
    found, _ = probe.measure(None, view, np.random.default_rng(4))
    bits = np.asarray(found["exposure"].value)

    assert fingerprint(model) == before
    assert bits[0] == 8
    assert bits[1:-1].mean() < 4
    assert np.isnan(bits[-1])
    assert found["exposure"].axes == ("canary",)


def test_losses_of_texts_of_any_length_are_those_of_one_at_a_time() -> None:
    view = ModelView(small_model(), CORPUS, 0)  # type: ignore[arg-type]
    texts = ["ab", "abcdefgh", "ba", "a" * 40, ""]
    together = text_losses(view, texts)
    np.testing.assert_allclose(together, [text_losses(view, [text])[0] for text in texts], rtol=1e-12)
    assert together[4] == 0


@pytest.mark.parametrize(
    ("canary", "count", "texts"), [("pin 7", 63, 9), ("pin 7", 4, 4), ("a1b2", 99, 99), ("x", 5, 0)]
)
def test_the_texts_beside_a_canary_are_different_and_none_is_the_canary(canary: str, count: int, texts: int) -> None:
    for seed in range(20):
        others = with_other_digits(canary, count, np.random.default_rng(seed))
        assert len(set(others)) == len(others) == texts
        assert canary not in others
        assert {len(other) for other in others} <= {len(canary)}


def test_digits_are_drawn_alike_whether_few_are_there_or_many() -> None:
    few, many = (
        [with_other_digits("k5" * digits, 2, np.random.default_rng(seed))[0][1] for seed in range(2000)]
        for digits in (1, 3)
    )

    np.testing.assert_allclose(np.bincount(list(map(int, few)), minlength=10)[[0, 9]] / 2000, 1 / 9, atol=0.03)
    np.testing.assert_allclose(np.bincount(list(map(int, many)), minlength=10) / 2000, 0.1, atol=0.03)


def test_a_canary_longer_than_the_context_has_no_exposure() -> None:
    view = ModelView(small_model(), CORPUS, 0)  # type: ignore[arg-type]
    long = "a" * (view.shape.context + 1) + "1"

    assert math.isnan(exposure(view, long, 8, np.random.default_rng(0)))
    assert math.isfinite(exposure(view, long[-5:], 8, np.random.default_rng(0)))
