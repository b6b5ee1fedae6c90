"""What the trainer is compared with: a tuned plain PyTorch loop in three settings, and litgpt's GPT where installed."""

import importlib.util
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from andrea_core.model.settings import ModelShape

Step = Callable[[Tensor, Tensor], None]


class PlainBlock(nn.Module):
    """One pre-norm layer as every short GPT has it."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.norm1, self.norm2 = nn.LayerNorm(width, bias=False), nn.LayerNorm(width, bias=False)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        rows, length, width = x.shape
        split = self.qkv(self.norm1(x)).split(width, dim=2)
        q, k, v = (part.view(rows, length, self.heads, width // self.heads).transpose(1, 2) for part in split)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(rows, length, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Plain(nn.Module):
    """The same model as ours: learned positions, no biases, a head of its own."""

    def __init__(self, shape: ModelShape, vocabulary: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, shape.width), nn.Embedding(shape.context, shape.width)
        self.blocks = nn.Sequential(*(PlainBlock(shape) for _ in range(shape.layers)))
        self.norm = nn.LayerNorm(shape.width, bias=False)
        self.head = nn.Linear(shape.width, vocabulary, bias=False)
        for parameter in self.parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.head(
            self.norm(self.blocks(self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]))
        )
        return logits


def peers(shape: ModelShape, vocabulary: int) -> dict[str, Step]:
    """Return one training step of each competitor by name."""
    found = {
        "plain, fused": _loop(Plain(shape, vocabulary), {"fused": True}),
        "plain, foreach": _loop(Plain(shape, vocabulary), {"foreach": True}),
        "plain, fused, gradients kept": _loop(Plain(shape, vocabulary), {"fused": True}, drop=False),
    }
    if importlib.util.find_spec("litgpt") is not None:
        found["litgpt, fused"] = _loop(_litgpt(shape, vocabulary), {"fused": True})
    return found


def _litgpt(shape: ModelShape, vocabulary: int) -> nn.Module:
    from litgpt import GPT, Config

    config = Config(
        n_layer=shape.layers,
        n_head=shape.heads,
        n_embd=shape.width,
        block_size=shape.context,
        vocab_size=vocabulary,
        padded_vocab_size=vocabulary,
        bias=False,
        rotary_percentage=1.0,
        parallel_residual=False,
    )
    model: nn.Module = GPT(config)
    return model


def _loop(model: nn.Module, options: dict[str, Any], drop: bool = True) -> Step:
    """Return what a hand-written loop does a step: forward, backward, clip, AdamW; nothing is recorded."""
    groups = [
        {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0.1},
        {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=3e-4, **options)
    parameters = list(model.parameters())

    def step(inputs: Tensor, targets: Tensor) -> None:
        logits = model(inputs)
        loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad(set_to_none=drop)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    return step
