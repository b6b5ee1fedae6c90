"""The decoder: sizes, causality, initial weights, losses."""

import math

import attrs
import pytest
import torch
from torch.nn import functional

from andrea_core.model.gpt import GPT, build_model
from andrea_core.model.settings import PRESETS, ModelShape

SHAPE = PRESETS["tiny"]


@pytest.mark.parametrize(
    ("preset", "vocabulary", "count"),
    [("andrea-12m", 2305, 12_780_288), ("andrea-120m", 8449, 98_698_752)],
)
def test_presets_have_andreas_parameter_counts_apart_from_norm_gains(preset: str, vocabulary: int, count: int) -> None:
    with torch.device("meta"):
        model = GPT(PRESETS[preset], vocabulary)

    assert model.parameter_count(norms=False) == count
    assert model.parameter_count() == count + (2 * PRESETS[preset].layers + 1) * PRESETS[preset].width


def test_no_parameter_is_a_bias_and_the_head_is_its_own() -> None:
    model = build_model(SHAPE, 19, 0)

    assert [name for name, _ in model.named_parameters() if name.endswith("bias")] == []
    assert model.head.weight.data_ptr() != model.tokens.weight.data_ptr()


def test_a_later_token_changes_no_earlier_prediction() -> None:
    model = build_model(SHAPE, 19, 0)
    tokens = torch.randint(0, 19, (1, 32), generator=torch.Generator().manual_seed(1))
    changed = tokens.clone()
    changed[0, 20] = (changed[0, 20] + 1) % 19

    before, after = model(tokens), model(changed)

    torch.testing.assert_close(before[:, :20], after[:, :20])
    assert not torch.allclose(before[:, 20:], after[:, 20:])


def test_attention_equals_the_softmax_of_scaled_scores_written_out() -> None:
    model = build_model(attrs.evolve(SHAPE, layers=1), 19, 0).double()
    attention = model.blocks[0].attention
    x = torch.randn(2, 8, 32, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    q, k, v = (part.view(2, 8, 2, 16).transpose(1, 2) for part in attention.qkv(x).split(32, -1))
    scores = q @ k.transpose(-1, -2) / math.sqrt(16)
    future = torch.ones(8, 8, dtype=torch.bool).triu(1)
    blend = scores.masked_fill(future, -math.inf).softmax(-1) @ v

    torch.testing.assert_close(attention(x), attention.out(blend.transpose(1, 2).reshape(2, 8, 32)))


def test_the_same_seed_gives_the_same_weights_and_another_seed_others() -> None:
    first, again, other = (build_model(SHAPE, 19, seed).state_dict() for seed in (5, 5, 6))

    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["head.weight"], other["head.weight"])


def test_building_a_model_leaves_the_global_generator_alone() -> None:
    before = torch.get_rng_state()
    build_model(SHAPE, 19, 5)

    assert torch.equal(before, torch.get_rng_state())


def test_initial_weights_have_the_stated_spread() -> None:
    model = build_model(ModelShape(layers=8, heads=4, width=128, context=64), 257, 0)
    for name, parameter in model.named_parameters():
        if parameter.ndim == 1:
            assert torch.equal(parameter, torch.ones_like(parameter))
        else:
            expected = 0.02 / 4 if name.endswith("out.weight") else 0.02
            assert parameter.std().item() == pytest.approx(expected, rel=0.05), name


def test_an_untrained_model_is_near_chance() -> None:
    model = build_model(PRESETS["laptop"], 257, 0)
    tokens = torch.randint(0, 257, (4, 128), generator=torch.Generator().manual_seed(1))

    assert model.token_losses(tokens, tokens.roll(-1, 1)).mean().item() == pytest.approx(math.log(257), abs=0.15)


def test_row_losses_sum_the_token_losses_of_the_logits() -> None:
    model = build_model(SHAPE, 19, 0)
    tokens = torch.randint(0, 19, (3, 33), generator=torch.Generator().manual_seed(1))
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    expected = [functional.cross_entropy(model(inputs)[row], targets[row], reduction="sum") for row in range(3)]

    torch.testing.assert_close(model.row_losses(inputs, targets), torch.stack(expected))


def test_next_logits_are_the_last_ones_of_the_whole_pass() -> None:
    model = build_model(SHAPE, 19, 0)
    tokens = torch.randint(0, 19, (2, 10), generator=torch.Generator().manual_seed(1))

    torch.testing.assert_close(model.next_logits(tokens), model(tokens)[:, -1])


def test_dropout_acts_only_while_training() -> None:
    model = build_model(attrs.evolve(SHAPE, dropout=0.5), 19, 0)
    tokens = torch.zeros(1, 8, dtype=torch.int64)

    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    assert torch.equal(model(tokens), model(tokens))


def _batch(vocabulary: int = 19) -> tuple[torch.Tensor, torch.Tensor]:
    tokens = torch.randint(0, vocabulary, (3, 33), generator=torch.Generator().manual_seed(4))
    return tokens[:, :-1], tokens[:, 1:]


def _gradients(model: GPT) -> dict[str, torch.Tensor]:
    model.scores(*_batch(), normaliser=True)[0].mean().backward()
    return {
        name: p.grad[: model.vocabulary] if "blocks" not in name else p.grad for name, p in model.named_parameters()
    }


@pytest.mark.parametrize("cap", [0.0, 0.05])
def test_padding_the_vocabulary_changes_no_weight_no_loss_no_gradient_and_no_size(cap: float) -> None:
    shape = attrs.evolve(SHAPE, logit_cap=cap)
    plain, padded = build_model(shape, 19, 0), build_model(attrs.evolve(shape, pad_vocabulary=64), 19, 0)

    assert padded.head.out_features == padded.tokens.num_embeddings == 64
    assert padded.parameter_count() == plain.parameter_count()
    assert padded(_batch()[0]).shape == (3, 32, 19)
    torch.testing.assert_close(plain.token_losses(*_batch()), padded.token_losses(*_batch()), rtol=1e-6, atol=1e-6)
    wanted, got = _gradients(plain), _gradients(padded)
    for name, gradient in wanted.items():
        torch.testing.assert_close(got[name], gradient, rtol=1e-4, atol=1e-6)
    assert not padded.head.weight.grad[19:].any()


def test_losses_made_in_parts_equal_the_whole_with_their_gradients() -> None:
    whole, parts = build_model(SHAPE, 19, 0).double(), build_model(SHAPE, 19, 0).double()
    parts.logits_at_once = 19 * 7  # 96 positions, 7 at once

    for ours, theirs in zip(
        parts.scores(*_batch(), normaliser=True), whole.scores(*_batch(), normaliser=True), strict=True
    ):
        torch.testing.assert_close(ours, theirs)
    wanted, got = _gradients(whole), _gradients(parts)
    for name, gradient in wanted.items():
        torch.testing.assert_close(got[name], gradient)


def test_log_z_is_the_log_sum_exp_of_the_logits_without_padding() -> None:
    model = build_model(attrs.evolve(SHAPE, pad_vocabulary=32), 19, 0)
    inputs, targets = _batch()

    torch.testing.assert_close(model.scores(inputs, targets, normaliser=True)[1], model(inputs).logsumexp(-1))


def test_capped_logits_stay_inside_the_cap_and_small_ones_as_they_are() -> None:
    model = build_model(attrs.evolve(SHAPE, logit_cap=0.05), 19, 0)
    free = build_model(SHAPE, 19, 0)
    tokens = _batch()[0]

    torch.testing.assert_close(model(tokens), 0.05 * torch.tanh(free(tokens) / 0.05))
    assert model(tokens).abs().max() <= 0.05 < free(tokens).abs().max()


GPT2 = attrs.evolve(SHAPE, bias=True, tied_head=True, activation="gelu_tanh")


@pytest.mark.parametrize("shape", [SHAPE, GPT2, attrs.evolve(GPT2, tied_head=False, pad_vocabulary=8)], ids=str)
def test_the_settings_know_the_number_of_parameters(shape: ModelShape) -> None:
    model = build_model(shape, 19, 0)

    assert model.parameter_count(norms=False) == shape.parameters(19)
    assert model.parameter_count() == shape.parameters(19) + shape.vectors()


def test_a_tied_head_is_the_embedding_and_learns_from_both_its_uses() -> None:
    model = build_model(GPT2, 19, 0)
    model.token_losses(*_batch()).mean().backward()
    torch.testing.assert_close(model(_batch()[0]), model.hidden(_batch()[0]) @ model.tokens.weight.T)

    assert "head.weight" not in dict(model.named_parameters())
    assert "head.weight" not in model.state_dict()
    assert (model.tokens.weight.grad.abs().sum(1) > 0).all()  # as a head every row gets a gradient


def test_biases_start_at_zero_and_leave_the_weights_as_they_were() -> None:
    plain, biased = build_model(SHAPE, 19, 0), build_model(attrs.evolve(SHAPE, bias=True), 19, 0)

    assert all(not p.any() for name, p in biased.named_parameters() if name.endswith("bias"))
    torch.testing.assert_close(plain(_batch()[0]), biased(_batch()[0]))
