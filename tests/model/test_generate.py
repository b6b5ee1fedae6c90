"""Generation: the law of a drawn token, the context, the end."""

import warnings

import numpy as np
import pytest
import torch

from andrea_core.errors import RunError
from andrea_core.model.cache import Cache
from andrea_core.model.generate import Reader, Sampling, generate_tokens, pick, settled
from andrea_core.model.gpt import GPT, build_model
from andrea_core.model.settings import PRESETS

LOGITS = np.log(np.array([0.1, 0.4, 0.05, 0.25, 0.2]))


@pytest.fixture
def model() -> GPT:
    model = build_model(PRESETS["tiny"], 19, 0)
    with torch.no_grad():
        model.head.weight.mul_(40)  # spread the predictions, so that tokens differ
    return model


def frequencies(sampling: Sampling, logits: np.ndarray = LOGITS, draws: int = 20_000) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.bincount([pick(logits, sampling, rng) for _ in range(draws)], minlength=len(logits)) / draws


def test_tokens_are_drawn_with_the_softmax_of_the_logits() -> None:
    np.testing.assert_allclose(frequencies(Sampling(1.0)), np.exp(LOGITS), atol=0.015)


def test_temperature_raises_the_chances_to_its_inverse_power() -> None:
    expected = np.exp(LOGITS) ** 2

    np.testing.assert_allclose(frequencies(Sampling(0.5)), expected / expected.sum(), atol=0.015)


def test_top_k_keeps_the_k_likeliest_in_proportion() -> None:
    np.testing.assert_allclose(frequencies(Sampling(1.0, top_k=2)), [0, 0.4 / 0.65, 0, 0.25 / 0.65, 0], atol=0.015)


def test_top_p_keeps_the_smallest_set_that_reaches_it() -> None:
    np.testing.assert_allclose(frequencies(Sampling(1.0, top_p=0.5)), [0, 0.4 / 0.65, 0, 0.25 / 0.65, 0], atol=0.015)
    np.testing.assert_array_equal(frequencies(Sampling(1.0, top_p=1e-9), draws=50), [0, 1, 0, 0, 0])


@pytest.mark.parametrize("sampling", [Sampling(0.0), Sampling(1.0, top_k=1), Sampling(1e-8)])
def test_the_cold_limits_take_the_likeliest(sampling: Sampling) -> None:
    assert pick(LOGITS, sampling, np.random.default_rng(0)) == 1


def test_more_top_k_than_tokens_keeps_all() -> None:
    np.testing.assert_array_equal(
        frequencies(Sampling(1.0, top_k=99), draws=500), frequencies(Sampling(1.0), draws=500)
    )


def test_a_diverged_model_is_named_as_such() -> None:
    with pytest.raises(RunError, match="not finite: it has diverged"):
        pick(np.array([0.0, np.nan]), Sampling(), np.random.default_rng(0))


def test_greedy_tokens_are_the_argmax_of_the_cropped_context(model: GPT) -> None:
    prompt = [1, 2, 3]
    seen = list(prompt)
    for token in generate_tokens(model, prompt, 40, Sampling(0.0), np.random.default_rng(0)):
        with torch.no_grad():
            assert token == int(model(torch.tensor([seen[-32:]]))[0, -1].argmax())
        seen.append(token)

    assert len(seen) == 43


def test_a_prompt_longer_than_the_context_counts_by_its_end(model: GPT) -> None:
    long = list(np.random.default_rng(1).integers(0, 19, 50))
    first, second = (
        list(generate_tokens(model, prompt, 5, Sampling(), np.random.default_rng(2))) for prompt in (long, long[-32:])
    )

    assert first == second


def test_equal_generators_give_equal_text_and_torchs_is_untouched(model: GPT) -> None:
    before = torch.get_rng_state()
    first, again, other = (
        list(generate_tokens(model, [0], 30, Sampling(), np.random.default_rng(s))) for s in (1, 1, 2)
    )

    assert first == again != other
    assert torch.equal(before, torch.get_rng_state())


def test_generation_ends_before_the_stop_token(model: GPT) -> None:
    free = list(generate_tokens(model, [0], 30, Sampling(), np.random.default_rng(1)))
    stop = free[12]
    ended = list(generate_tokens(model, [0], 30, Sampling(), np.random.default_rng(1), stop=stop))

    assert ended == free[: free.index(stop)]


def test_a_consumer_between_two_tokens_may_train(model: GPT) -> None:
    stream = generate_tokens(model, [0], 2, Sampling(), np.random.default_rng(1))
    next(stream)

    assert model.training
    assert not torch.is_inference_mode_enabled()
    model(torch.zeros(1, 4, dtype=torch.int64)).sum().backward()
    assert next(stream) in range(19)


def test_an_empty_prompt_is_refused(model: GPT) -> None:
    with pytest.raises(ValueError, match="a prompt needs at least one token"):
        next(generate_tokens(model, [], 1, Sampling(), np.random.default_rng(1)))


@pytest.mark.parametrize("length", [1, 2, 20, 31, 32])
def test_a_text_read_token_by_token_gives_the_predictions_of_the_whole(model: GPT, length: int) -> None:
    model = model.double()
    tokens = list(np.random.default_rng(3).integers(0, 19, 45))
    reader = Reader(model, tokens[:length])
    for end in range(length, 45):
        with torch.no_grad():
            whole = model(torch.tensor([tokens[max(0, end - 32) : end]]))[0, -1]

        np.testing.assert_allclose(reader.logits(), whole.numpy(), rtol=1e-10, atol=1e-12)
        reader.read(tokens[end])


def test_each_token_inside_the_context_is_read_once(model: GPT, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    hidden = GPT.hidden

    def counted(self: GPT, tokens: torch.Tensor, cache: Cache | None = None) -> torch.Tensor:
        read.append(tokens.shape[1])
        return hidden(self, tokens, cache)

    monkeypatch.setattr(GPT, "hidden", counted)
    list(generate_tokens(model, [1, 2, 3], 31, Sampling(0.0), np.random.default_rng(0)))

    assert read == [3] + [1] * 29 + [32]


def test_half_a_character_waits_for_its_other_half() -> None:
    text = "größer".encode()

    assert settled(text[:3].decode("utf-8", "replace")) == "gr"
    assert settled(text[:4].decode("utf-8", "replace")) == "grö"


def test_a_temperature_next_to_zero_takes_the_likeliest_without_a_warning() -> None:
    logits = np.array([0.5, 3.0, -1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pick(logits, Sampling(1e-320, 0, 1.0), np.random.default_rng(0)) == 1
