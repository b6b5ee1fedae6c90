"""The names and layout of GPT-2's weights in `transformers`, to and from this project's model."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from andrea_core.errors import RunError
from andrea_core.model.settings import ModelShape
from andrea_core.spelling import shown

if TYPE_CHECKING:
    from torch import Tensor

    from andrea_core.model.gpt import GPT

OUTSIDE = {"wte": "tokens", "wpe": "positions", "ln_f": "norm"}
INSIDE = {
    "ln_1": "attention_norm",
    "attn.c_attn": "attention.qkv",
    "attn.c_proj": "attention.out",
    "ln_2": "mlp_norm",
    "mlp.c_fc": "mlp.up",
    "mlp.c_proj": "mlp.out",
}
TRANSPOSED = {"attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"}
"""GPT-2's "Conv1D" layers keep (inputs, outputs), PyTorch's linear layers (outputs, inputs)."""

ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_new"}
_BUFFER = re.compile(r"(^|\.)h\.\d+\.attn\.(bias|masked_bias)$")


def config_of(model: "GPT", separator: int) -> dict[str, Any]:
    """Return the `config.json` of a model. Raises RunError for what GPT-2 cannot be: capped logits."""
    shape = model.shape
    if shape.logit_cap:
        raise RunError("a model with model.logit_cap is no GPT-2 and cannot be exported; train it without")
    drops = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), shape.dropout)
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": model.vocabulary,
        "n_positions": shape.context,
        "n_embd": shape.width,
        "n_layer": shape.layers,
        "n_head": shape.heads,
        "n_inner": 4 * shape.width,
        "activation_function": ACTIVATIONS[shape.activation],
        "layer_norm_epsilon": model.norm.eps,
        "tie_word_embeddings": shape.tied_head,
        "bos_token_id": separator,
        "eos_token_id": separator,
        "dtype": "float32",
        **drops,
    }


def weights_of(model: "GPT") -> dict[str, "Tensor"]:
    """Return the tensors of a model under GPT-2's names: biases that it lacks as zeros, no padded rows."""
    own = model.state_dict()
    found: dict[str, Tensor] = {}
    for theirs, ours, transposed in _names(model.shape):
        weight = own[f"{ours}.weight"]
        found[f"transformer.{theirs}.weight"] = weight.T if transposed else weight
        if theirs not in ("wte", "wpe"):
            bias = own.get(f"{ours}.bias")
            found[f"transformer.{theirs}.bias"] = weight.new_zeros(weight.shape[0]) if bias is None else bias
    found["transformer.wte.weight"] = found["transformer.wte.weight"][: model.vocabulary]
    if not model.shape.tied_head:
        found["lm_head.weight"] = own["head.weight"][: model.vocabulary]
    return {name: tensor.detach().float().contiguous().clone() for name, tensor in found.items()}


PLAIN = {
    "layer_norm_epsilon": 1e-5,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
}
"""Keys of a `config.json` that would make another function of the same weights, and their one value here."""

SIZES = ("n_layer", "n_head", "n_embd", "n_positions")


def shape_of(config: Mapping[str, Any]) -> ModelShape:
    """Return the shape that a GPT-2 `config.json` describes. Raises RunError for another kind of model."""
    for name in SIZES:
        if type(config.get(name)) is not int or config[name] < 1:
            raise RunError(f"config.json: {name} must be a whole number from 1, got {shown(config.get(name))}")
    for name, plain in PLAIN.items():
        if config.get(name, plain) != plain:
            raise RunError(
                f"config.json: {name} is {shown(config[name])}, and only {plain!r} can be taken up: the weights would "
                "make another model here than there"
            )
    activations = {theirs: ours for ours, theirs in ACTIVATIONS.items()} | {"gelu_pytorch_tanh": "gelu_tanh"}
    activation = activations.get(str(config.get("activation_function", "gelu_new")))
    inner = config.get("n_inner") or 4 * config["n_embd"]
    if config.get("model_type") != "gpt2" or activation is None or inner != 4 * config["n_embd"]:
        raise RunError(
            "only GPT-2 models can be taken up: model_type gpt2, a GELU, an MLP of four times the width; this is "
            f"{config.get('model_type')!r} with {config.get('activation_function')!r} and an MLP of {inner}"
        )
    return ModelShape(
        layers=config["n_layer"],
        heads=config["n_head"],
        width=config["n_embd"],
        context=config["n_positions"],
        bias=True,
        tied_head=bool(config.get("tie_word_embeddings", True)),
        activation=activation,
    )


def adopt(model: "GPT", weights: Mapping[str, "Tensor"], origin: str) -> None:
    """Copy GPT-2 weights into a model of the same shape.

    A tied head may start an untied one; biases must be zero where the model has none. Raises RunError, naming tensor
    and shapes, for weights of another model.
    """
    import torch

    taken = {name.removeprefix("transformer."): tensor for name, tensor in weights.items() if not _BUFFER.search(name)}
    own = model.state_dict()
    with torch.no_grad():
        for theirs, ours, transposed in _names(model.shape):
            tensor = _taken(taken, f"{theirs}.weight", origin)
            if theirs == "wte":
                taken.setdefault("lm_head.weight", tensor)
            _copy(own[f"{ours}.weight"], tensor.T if transposed else tensor, model, f"{theirs}.weight", origin)
            if theirs not in ("wte", "wpe"):
                bias, name = own.get(f"{ours}.bias"), f"{theirs}.bias"
                _copy_bias(bias, _taken(taken, name, origin), own[f"{ours}.weight"], name, origin)
        head = taken.pop("lm_head.weight")
        if not model.shape.tied_head:
            _copy(own["head.weight"], head, model, "lm_head.weight", origin)
        elif not torch.equal(head.float(), own["tokens.weight"][: model.vocabulary].cpu()):
            raise RunError(
                f"{origin}: lm_head.weight is not wte.weight, and the scenario's head is tied; "
                "set model.tied_head = false"
            )
    if taken:
        raise RunError(f"{origin}: the model of the scenario has no place for {min(taken)}; give it the same shape")


def start_from(model: "GPT", folder: Path) -> None:
    """Fill a model with the weights of a folder that `transformers` wrote; raises RunError where they do not fit."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        weights = load_file(folder / "model.safetensors")
    except (OSError, ValueError, RecursionError, SafetensorError) as error:
        raise RunError(
            f"model.init_from: {folder} holds no GPT-2 weights ({error}); it needs config.json and model.safetensors"
        ) from error
    if not isinstance(config, dict):
        raise RunError(f"model.init_from: {folder / 'config.json'} holds no table; it is not what transformers writes")
    try:
        theirs = shape_of(config)
    except RunError as error:
        raise RunError(f"model.init_from: {folder}: {error}") from error
    if not theirs.tied_head and "lm_head.weight" not in weights:
        raise RunError(f"model.init_from: {folder} lacks the tensor lm_head.weight, and its config.json ties no head")
    for name in ("layers", "heads", "width", "context", "activation"):
        ours, given = getattr(model.shape, name), getattr(theirs, name)
        if ours != given:
            raise RunError(
                f"model.init_from: {folder} has {name} {given!r}, the scenario's model {ours!r}; set it alike"
            )
    adopt(model, weights, str(folder))


def _names(shape: ModelShape) -> list[tuple[str, str, bool]]:
    inside = [
        (f"h.{layer}.{theirs}", f"blocks.{layer}.{ours}", theirs in TRANSPOSED)
        for layer in range(shape.layers)
        for theirs, ours in INSIDE.items()
    ]
    return [*((theirs, ours, False) for theirs, ours in OUTSIDE.items()), *inside]


def _taken(weights: dict[str, "Tensor"], name: str, origin: str) -> "Tensor":
    if name not in weights:
        raise RunError(f"{origin} lacks the tensor {name}: these are not the weights of this GPT-2")
    return weights.pop(name)


def _copy(own: "Tensor", given: "Tensor", model: "GPT", name: str, origin: str) -> None:
    rows = model.vocabulary if own.shape[0] == model.padded and name in ("wte.weight", "lm_head.weight") else None
    target = own[:rows]
    _fill(target, given, name, origin)


def _fill(target: "Tensor", given: "Tensor", name: str, origin: str) -> None:
    """Copy a tensor of the same shape into the model's; raises RunError, naming it, for one that is no good."""
    import torch

    if target.shape != given.shape:
        raise RunError(f"{origin}: {name} is {tuple(given.shape)}, the scenario's model needs {tuple(target.shape)}")
    if given.dtype not in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        kind = str(given.dtype).removeprefix("torch.")
        raise RunError(f"{origin}: {name} is of {kind}; weights are float16, bfloat16, float32 or float64")
    target.copy_(given)
    if not torch.isfinite(target).all():
        raise RunError(f"{origin}: {name} holds values that are no finite float32 numbers; export the weights again")


def _copy_bias(own: "Tensor | None", given: "Tensor", like: "Tensor", name: str, origin: str) -> None:
    target = like.new_zeros(like.shape[0]) if own is None else own
    _fill(target, given, name, origin)
    if own is None and target.any():
        raise RunError(f"{origin}: {name} is not zero, and the scenario's model has no biases; set model.bias = true")
