"""What the attention heads of a model hold on a prompt: queries, keys and values, and the matrices that make them.

Shape suffixes: L layers, H heads, T positions, D width of a head, C width of the stream.
"""

from typing import cast

import attrs
import numpy as np
import torch
from torch import Tensor

from andrea_core.model.gpt import GPT, Block
from andrea_core.model.quiet import quiet
from andrea_core.values import Integers, Vector


@attrs.frozen(eq=False)
class Heads:
    """The heads of every layer in float64: what they made of T tokens, and their weights.

    `queries`, `keys` and `values` are (L, H, T, D); a score is their product q k' / sqrt(D). `query_weights` and
    `key_weights` (L, H, D, C) map the normalised stream to them, biases apart.
    """

    queries: Vector
    keys: Vector
    values: Vector
    query_weights: Vector
    key_weights: Vector


def read_heads(model: GPT, tokens: Integers) -> Heads:
    """Return the heads of a model on tokens (T,), 1 <= T <= context; dropout is off, the model stays as it is."""
    text_1T = torch.as_tensor(np.array(tokens, dtype=np.int64)[None], device=model.head_weight.device)
    shape = model.shape
    found, weights = [], []
    with quiet(model):
        x_1TC = model.tokens(text_1T) + model.positions.weight[: text_1T.shape[1]]
        for module in model.blocks:
            block = cast("Block", module)
            attention = block.attention
            qkv = attention.qkv(block.attention_norm(x_1TC))[0]
            found.append(_array(qkv.view(-1, 3, shape.heads, shape.width // shape.heads).permute(1, 2, 0, 3)))
            weights.append(_array(attention.qkv.weight.view(3, shape.heads, -1, shape.width)))
            x_1TC = block(x_1TC)
    qkv_L3HTD, weights_L3HDC = np.stack(found), np.stack(weights)
    queries, keys, values = (qkv_L3HTD[:, part] for part in range(3))
    return Heads(queries, keys, values, weights_L3HDC[:, 0], weights_L3HDC[:, 1])


def token_vectors(model: GPT) -> Vector:
    """Return the embedding (V, C) of the vocabulary in float64."""
    return _array(model.tokens.weight[: model.vocabulary].detach())


def _array(tensor: Tensor) -> Vector:
    # Apple's GPUs have no double precision.
    return np.asarray(tensor.cpu().to(torch.float64).numpy())
