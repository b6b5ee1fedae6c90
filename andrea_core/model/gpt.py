"""The decoder: learned positions, pre-norm blocks without biases, GELU, causal attention, an untied head.

Shape suffixes: B rows, T positions, C width, H heads, D width of a head, V vocabulary.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from andrea_core.model.settings import ModelShape

INIT_STD = 0.02  # GPT-2's (Radford et al. 2019); the parts that write to the residual stream get 1/sqrt(2 layers) of it


class Attention(nn.Module):
    """Causal self-attention softmax(Q K' / sqrt(D)) V in `heads` heads (Vaswani et al. 2017)."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.heads, self.dropout = shape.heads, shape.dropout
        self.qkv = nn.Linear(shape.width, 3 * shape.width, bias=False)
        self.out = nn.Linear(shape.width, shape.width, bias=False)

    def forward(self, x_BTC: Tensor) -> Tensor:
        """Blend each position's past; (B, T, C) to (B, T, C)."""
        rows, length, width = x_BTC.shape
        qkv_BT3HD = self.qkv(x_BTC).view(rows, length, 3, self.heads, width // self.heads)
        q_BHTD, k_BHTD, v_BHTD = qkv_BT3HD.permute(2, 0, 3, 1, 4).unbind(0)
        dropout = self.dropout if self.training else 0.0
        y_BHTD = functional.scaled_dot_product_attention(q_BHTD, k_BHTD, v_BHTD, dropout_p=dropout, is_causal=True)
        y_BTC: Tensor = self.out(y_BHTD.transpose(1, 2).reshape(rows, length, width))
        return y_BTC


class Mlp(nn.Module):
    """Two layers with a GELU between them, four times as wide as the stream."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.up = nn.Linear(shape.width, 4 * shape.width, bias=False)
        self.out = nn.Linear(4 * shape.width, shape.width, bias=False)

    def forward(self, x_BTC: Tensor) -> Tensor:
        """Act on each position alone; (B, T, C) to (B, T, C)."""
        y_BTC: Tensor = self.out(functional.gelu(self.up(x_BTC)))
        return y_BTC


class Block(nn.Module):
    """One layer: attention, then the MLP, each normalised at its input and added to the stream."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(shape.width, bias=False)
        self.attention = Attention(shape)
        self.mlp_norm = nn.LayerNorm(shape.width, bias=False)
        self.mlp = Mlp(shape)
        self.dropout = shape.dropout

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        x_BTC = x_BTC + self._drop(self.attention(self.attention_norm(x_BTC)))
        return x_BTC + self._drop(self.mlp(self.mlp_norm(x_BTC)))

    def _drop(self, x_BTC: Tensor) -> Tensor:
        return functional.dropout(x_BTC, self.dropout, self.training) if self.dropout else x_BTC


class GPT(nn.Module):
    """The ANDREA-shaped decoder. Its parameters are as PyTorch leaves them; use `build_model` for initialised ones."""

    def __init__(self, shape: ModelShape, vocabulary: int) -> None:
        super().__init__()
        self.shape, self.vocabulary = shape, vocabulary
        self.tokens = nn.Embedding(vocabulary, shape.width)
        self.positions = nn.Embedding(shape.context, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width, bias=False)
        self.head = nn.Linear(shape.width, vocabulary, bias=False)

    def hidden(self, tokens_BT: Tensor) -> Tensor:
        """Return the normalised last layer (B, T, C) of tokens (B, T) with T <= context."""
        x_BTC = self.tokens(tokens_BT) + self.positions.weight[: tokens_BT.shape[1]]
        if self.shape.dropout:
            x_BTC = functional.dropout(x_BTC, self.shape.dropout, self.training)
        for block in self.blocks:
            x_BTC = block(x_BTC)
        normed_BTC: Tensor = self.norm(x_BTC)
        return normed_BTC

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """Return the logits (B, T, V) of the token after each position."""
        logits_BTV: Tensor = self.head(self.hidden(tokens_BT))
        return logits_BTV

    def next_logits(self, tokens_BT: Tensor) -> Tensor:
        """Return the logits (B, V) of the token after the last position only."""
        logits_BV: Tensor = self.head(self.hidden(tokens_BT)[:, -1])
        return logits_BV

    def token_losses(self, tokens_BT: Tensor, targets_BT: Tensor) -> Tensor:
        """Return the cross-entropy (B, T) of each target in nats."""
        logits_BTV = self(tokens_BT)
        losses = functional.cross_entropy(
            logits_BTV.view(-1, self.vocabulary), targets_BT.reshape(-1), reduction="none"
        )
        return losses.view(targets_BT.shape)

    def row_losses(self, tokens_BT: Tensor, targets_BT: Tensor) -> Tensor:
        """Return the summed cross-entropy (B,) of each row in nats."""
        return self.token_losses(tokens_BT, targets_BT).sum(1)

    def parameter_count(self, *, norms: bool = True) -> int:
        """Return the number of parameters, with or without the gains of the norms (the only vectors)."""
        return sum(p.numel() for p in self.parameters() if norms or p.ndim > 1)


def build_model(shape: ModelShape, vocabulary: int, seed: int, device: str | torch.device = "cpu") -> GPT:
    """Return a model with weights drawn from `seed`: the same on every device, the global generators untouched."""
    with torch.device("meta"):
        model = GPT(shape, vocabulary)
    model.to_empty(device="cpu")
    initialise(model, torch.Generator().manual_seed(seed))
    return model.to(device)


def initialise(model: GPT, generator: torch.Generator) -> None:
    """Fill a CPU model: gains 1, matrices normal with deviation 0.02, smaller where they write to the stream."""
    residual = INIT_STD / math.sqrt(2 * model.shape.layers)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1:
                parameter.fill_(1.0)
            else:
                parameter.normal_(0.0, residual if name.endswith(".out.weight") else INIT_STD, generator=generator)
