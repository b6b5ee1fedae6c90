"""GPT-2's names and layout: out, in, and as `transformers` reads them."""

import json
import math
from pathlib import Path

import attrs
import numpy as np
import pytest
import torch
from peers import peer
from safetensors.torch import save_file

from andrea_core.data.bpe import train
from andrea_core.data.hf_tokenizer import SEPARATOR_NAME, tokenizer_config, tokenizer_json
from andrea_core.data.tokenizer import ByteTokenizer, Tokenizer
from andrea_core.errors import RunError
from andrea_core.model.generate import Sampling, generate_tokens
from andrea_core.model.gpt import GPT, build_model
from andrea_core.model.gpt2 import adopt, config_of, shape_of, start_from, weights_of
from andrea_core.model.settings import PRESETS, ModelShape

PLAIN = PRESETS["tiny"]
GPT2 = attrs.evolve(PLAIN, bias=True, tied_head=True, activation="gelu_tanh")
SHAPES = [PLAIN, GPT2, attrs.evolve(PLAIN, pad_vocabulary=64), attrs.evolve(GPT2, tied_head=False)]


def model_of(shape: ModelShape, seed: int = 0, vocabulary: int = 257) -> GPT:
    model = build_model(shape, vocabulary, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1:  # gains and biases that matter
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
            elif name.endswith("tokens.weight") or name == "head.weight":
                parameter.mul_(30)  # predictions far from uniform
    return model


def tokens(rows: int = 2, length: int = 24) -> torch.Tensor:
    return torch.randint(0, 257, (rows, length), generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_weights_that_went_out_and_in_predict_the_same(shape: ModelShape) -> None:
    model, other = model_of(shape), build_model(shape, 257, 9)
    adopt(other, weights_of(model), "weights")

    torch.testing.assert_close(other(tokens()), model(tokens()), rtol=0, atol=0)


def test_a_tied_head_may_start_an_untied_one_and_a_biasless_model_one_with_biases() -> None:
    tied = model_of(attrs.evolve(PLAIN, tied_head=True))
    untied = build_model(attrs.evolve(PLAIN, bias=True), 257, 9)
    adopt(untied, weights_of(tied), "weights")

    torch.testing.assert_close(untied(tokens()), tied(tokens()))


def test_weights_of_another_model_are_refused_by_name() -> None:
    weights = weights_of(model_of(GPT2))
    narrow = attrs.evolve(GPT2, width=16)
    lacking = {name: tensor for name, tensor in weights.items() if name != "transformer.ln_f.bias"}

    with pytest.raises(RunError, match=r"w: wte.weight is \(257, 32\), the scenario's model needs \(257, 16\)"):
        adopt(build_model(narrow, 257, 0), weights, "w")
    with pytest.raises(RunError, match=r"w: wte.weight is \(257, 32\), the scenario's model needs \(99, 32\)"):
        adopt(build_model(GPT2, 99, 0), weights, "w")
    with pytest.raises(RunError, match=r"w lacks the tensor ln_f.bias"):
        adopt(build_model(GPT2, 257, 0), lacking, "w")
    with pytest.raises(RunError, match=r"is not zero.*set model.bias = true"):
        adopt(build_model(attrs.evolve(GPT2, bias=False), 257, 0), weights, "w")
    with pytest.raises(RunError, match=r"no place for h.1.attn"):
        adopt(build_model(attrs.evolve(GPT2, layers=1), 257, 0), weights, "w")


def test_a_configuration_gives_the_shape_back_and_others_are_refused() -> None:
    config = config_of(model_of(GPT2), 256)

    assert shape_of(config) == GPT2
    with pytest.raises(RunError, match=r"only GPT-2 models can be taken up.*'llama'"):
        shape_of(config | {"model_type": "llama"})
    with pytest.raises(RunError, match="an MLP of 100"):
        shape_of(config | {"n_inner": 100})
    with pytest.raises(RunError, match="logit_cap is no GPT-2"):
        config_of(build_model(attrs.evolve(PLAIN, logit_cap=3.0), 257, 0), 256)


def written(folder: Path, model: GPT, tokenizer: Tokenizer) -> Path:
    save_file(weights_of(model), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config_of(model, tokenizer.separator)))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json(tokenizer)))
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config(model.shape.context)))
    return folder


class TestTransformers:
    """What `transformers` makes of an export; needs that library (the environment `export`)."""

    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_its_logits_are_ours(self, tmp_path: Path, shape: ModelShape) -> None:
        transformers = peer("transformers")
        model = model_of(shape).eval()
        theirs = transformers.GPT2LMHeadModel.from_pretrained(written(tmp_path, model, ByteTokenizer())).eval()
        with torch.no_grad():
            ours, found = model(tokens()), theirs(tokens()).logits

        assert ours.std() > 1
        torch.testing.assert_close(found, ours, rtol=0, atol=1e-4)

    @pytest.mark.parametrize("shape", SHAPES[:2], ids=str)
    def test_greedy_text_is_ours(self, tmp_path: Path, shape: ModelShape) -> None:
        transformers = peer("transformers")
        model = model_of(attrs.evolve(shape, context=128)).eval()
        theirs = transformers.GPT2LMHeadModel.from_pretrained(written(tmp_path, model, ByteTokenizer())).eval()
        prompt = [256, *b"The birds"]
        ours = list(generate_tokens(model, prompt, 100, Sampling(0.0), np.random.default_rng(0)))
        found = theirs.generate(
            torch.tensor([prompt]), max_new_tokens=100, do_sample=False, eos_token_id=None, pad_token_id=0
        )

        assert found[0, len(prompt) :].tolist() == ours

    def test_its_weights_can_start_a_run_of_ours(self, tmp_path: Path) -> None:
        transformers = peer("transformers")
        from safetensors.torch import load_file

        config = transformers.GPT2Config(vocab_size=257, n_positions=32, n_embd=32, n_layer=2, n_head=2)
        theirs = transformers.GPT2LMHeadModel(config).eval()
        theirs.save_pretrained(tmp_path)
        shape = shape_of(json.loads((tmp_path / "config.json").read_text()))
        model = build_model(shape, 257, 3).eval()
        adopt(model, load_file(tmp_path / "model.safetensors"), "weights")
        with torch.no_grad():
            torch.testing.assert_close(model(tokens()), theirs(tokens()).logits, rtol=0, atol=1e-4)

    @pytest.mark.parametrize("kind", ["bytes", "bpe"])
    def test_its_tokenizer_is_ours_behind_a_separator(self, tmp_path: Path, kind: str) -> None:
        transformers = peer("transformers")
        texts = ["The birds sang in the größer trees.", "  def f(x):\n\treturn x\n", "日本 🙂 ok's"]
        ours = ByteTokenizer() if kind == "bytes" else train(iter(texts * 3), 300)
        model = build_model(PLAIN, ours.vocabulary, 0)
        theirs = transformers.AutoTokenizer.from_pretrained(written(tmp_path, model, ours))
        for text in texts:
            assert theirs(text)["input_ids"] == [ours.separator, *ours.encode(text).tolist()]
            assert theirs.decode(ours.encode(text).tolist()) == text
        assert theirs.bos_token == theirs.eos_token == SEPARATOR_NAME


def folder_with(tmp_path: Path, config: dict[str, object], **tensors: torch.Tensor | None) -> Path:
    model = model_of(GPT2)
    weights = {**weights_of(model), **tensors}
    folder = tmp_path / "gpt2"
    folder.mkdir()
    save_file({name: tensor for name, tensor in weights.items() if tensor is not None}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({**config_of(model, 256), **config}), encoding="utf-8")
    return folder


BIAS, WTE, HEAD = "transformer.h.0.mlp.c_fc.bias", "transformer.wte.weight", "lm_head.weight"


@pytest.mark.parametrize(
    ("config", "tensors", "message"),
    [
        ({"layer_norm_epsilon": 0.1}, {}, "layer_norm_epsilon is 0.1, and only 1e-05 can be taken up"),
        ({"scale_attn_by_inverse_layer_idx": True}, {}, "scale_attn_by_inverse_layer_idx is True"),
        ({"scale_attn_weights": False}, {}, "scale_attn_weights is False"),
        ({"n_head": None}, {}, "n_head must be a whole number from 1, got None"),
        ({"n_embd": "32"}, {}, "n_embd must be a whole number from 1, got '32'"),
        ({"activation_function": ["gelu"]}, {}, r"only GPT-2 models.*\['gelu'\]"),
        ({"tie_word_embeddings": False}, {HEAD: None}, r"lacks the tensor lm_head\.weight"),
        ({}, {BIAS: torch.ones(1)}, r"c_fc\.bias is \(1,\), the scenario's model needs \(128,\)"),
        ({}, {BIAS: torch.ones(128, dtype=torch.int64)}, r"c_fc\.bias is of int64; weights are"),
        ({}, {WTE: torch.ones(257, 32, dtype=torch.bool)}, r"wte\.weight is of bool"),
        ({}, {WTE: torch.full((257, 32), math.nan)}, r"wte\.weight holds values that are no finite float32"),
        ({}, {WTE: torch.full((257, 32), 1e300, dtype=torch.float64)}, r"wte\.weight holds values"),
    ],
)
def test_a_folder_that_would_make_another_model_is_refused_by_what_is_wrong(
    tmp_path: Path, config: dict[str, object], tensors: dict[str, torch.Tensor | None], message: str
) -> None:
    folder = folder_with(tmp_path, config, **tensors)
    with pytest.raises(RunError, match=message) as refused:
        start_from(build_model(GPT2, 257, 9), folder)

    assert str(folder) in str(refused.value)


def test_half_precision_weights_are_taken_up(tmp_path: Path) -> None:
    given = torch.randn(257, 32).half()
    model = build_model(GPT2, 257, 9)
    start_from(model, folder_with(tmp_path, {}, **{WTE: given, HEAD: None}))

    torch.testing.assert_close(model.tokens.weight.detach(), given.float(), rtol=0, atol=0)


def test_an_untied_head_does_not_start_a_tied_one(tmp_path: Path) -> None:
    weights = {**weights_of(model_of(GPT2)), HEAD: torch.randn(257, 32)}
    with pytest.raises(RunError, match=r"lm_head\.weight is not wte\.weight.*set model\.tied_head = false"):
        adopt(build_model(GPT2, 257, 9), weights, "weights")
