"""The decoder: learned positions, pre-norm blocks, GELU, causal attention; biases and a tied head on request.

Shape suffixes: B rows, T positions, N positions of all rows, C width, H heads, D width of a head, V vocabulary, P the
vocabulary padded.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from andrea_core.model.cache import Cache, Past
from andrea_core.model.products import Linear, linear
from andrea_core.model.settings import ModelShape

INIT_STD = 0.02  # GPT-2's (Radford et al. 2019); the parts that write to the residual stream get 1/sqrt(2 layers) of it

PADDED = ("tokens.weight", "head.weight")
"""The parameters with a row for each token."""

APPROXIMATIONS = {"gelu": "none", "gelu_tanh": "tanh"}
"""PyTorch's names of the exact GELU (Hendrycks, Gimpel 2016) and of its approximation, which GPT-2 uses."""

LOGITS_AT_ONCE = 2**28
"""Logits (rows x vocabulary) that training makes together, 1 GiB in float32."""


class Attention(nn.Module):
    """Causal self-attention softmax(Q K' / sqrt(D)) V in `heads` heads (Vaswani et al. 2017)."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.heads, self.dropout = shape.heads, shape.dropout
        self.qkv = Linear(shape.width, 3 * shape.width, bias=shape.bias)
        self.out = Linear(shape.width, shape.width, bias=shape.bias)

    def forward(self, x_BTC: Tensor, past: Past | None = None) -> Tensor:
        """Blend each position's past; (B, T, C) to (B, T, C).

        With a `past`, the positions go on from it: a whole text into an empty one, or one position more.
        """
        rows, length, width = x_BTC.shape
        qkv_BT3HD = self.qkv(x_BTC).view(rows, length, 3, self.heads, width // self.heads)
        # Taken apart where they lie: their gradients are put together there by one copy.
        q_BHTD, k_BHTD, v_BHTD = (part.transpose(1, 2) for part in qkv_BT3HD.unbind(2))
        if past is not None:
            k_BHTD, v_BHTD = past.extend(k_BHTD, v_BHTD)
        dropout = self.dropout if self.training else 0.0
        causal = k_BHTD.shape[2] == length  # a single position after a past sees all of it
        y_BHTD = functional.scaled_dot_product_attention(q_BHTD, k_BHTD, v_BHTD, dropout_p=dropout, is_causal=causal)
        y_BTC: Tensor = self.out(y_BHTD.transpose(1, 2).reshape(rows, length, width))
        return y_BTC


class Mlp(nn.Module):
    """Two layers with a GELU between them, four times as wide as the stream."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.up = Linear(shape.width, 4 * shape.width, bias=shape.bias)
        self.out = Linear(4 * shape.width, shape.width, bias=shape.bias)
        self.approximate = APPROXIMATIONS[shape.activation]

    def forward(self, x_BTC: Tensor) -> Tensor:
        """Act on each position alone; (B, T, C) to (B, T, C)."""
        y_BTC: Tensor = self.out(functional.gelu(self.up(x_BTC), approximate=self.approximate))
        return y_BTC


class Block(nn.Module):
    """One layer: attention, then the MLP, each normalised at its input and added to the stream."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(shape.width, bias=shape.bias)
        self.attention = Attention(shape)
        self.mlp_norm = nn.LayerNorm(shape.width, bias=shape.bias)
        self.mlp = Mlp(shape)
        self.dropout = shape.dropout

    def forward(self, x_BTC: Tensor, past: Past | None = None) -> Tensor:
        """(B, T, C) to (B, T, C); with a `past`, the positions after it."""
        x_BTC = x_BTC + self._drop(self.attention(self.attention_norm(x_BTC), past))
        return x_BTC + self._drop(self.mlp(self.mlp_norm(x_BTC)))

    def _drop(self, x_BTC: Tensor) -> Tensor:
        return functional.dropout(x_BTC, self.dropout, self.training) if self.dropout else x_BTC


class GPT(nn.Module):
    """The ANDREA-shaped decoder. Its parameters are as PyTorch leaves them; use `build_model` for initialised ones."""

    def __init__(self, shape: ModelShape, vocabulary: int) -> None:
        super().__init__()
        self.shape, self.vocabulary = shape, vocabulary
        self.logits_at_once = LOGITS_AT_ONCE
        self.padded = -(-vocabulary // shape.pad_vocabulary) * shape.pad_vocabulary
        self.tokens = nn.Embedding(self.padded, shape.width)
        self.positions = nn.Embedding(shape.context, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width, bias=shape.bias)
        if not shape.tied_head:
            self.head = Linear(shape.width, self.padded, bias=False)

    @property
    def head_weight(self) -> Tensor:
        """The matrix (P, C) that turns the last layer into logits: the head's own, or the embedding's."""
        return self.tokens.weight if self.shape.tied_head else self.head.weight

    def hidden(self, tokens_BT: Tensor, cache: Cache | None = None) -> Tensor:
        """Return the normalised last layer (B, T, C) of tokens (B, T) with T <= context.

        A `cache` takes them up: all at once while it is empty, then one at a time, as long as the context lasts.
        """
        start = cache.length if cache is not None else 0
        x_BTC = self.tokens(tokens_BT) + self.positions.weight[start : start + tokens_BT.shape[1]]
        if self.shape.dropout:
            x_BTC = functional.dropout(x_BTC, self.shape.dropout, self.training)
        pasts = cache.layers if cache is not None else (None,) * len(self.blocks)
        for block, past in zip(self.blocks, pasts, strict=True):
            x_BTC = block(x_BTC, past)
        normed_BTC: Tensor = self.norm(x_BTC)
        return normed_BTC

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """Return the logits (B, T, V) of the token after each position."""
        return self._padded_logits(self.hidden(tokens_BT))[..., : self.vocabulary]

    def next_logits(self, tokens_BT: Tensor, cache: Cache | None = None) -> Tensor:
        """Return the logits (B, V) of the token after the last position only; `cache` as in `hidden`."""
        return self._padded_logits(self.hidden(tokens_BT, cache)[:, -1])[..., : self.vocabulary]

    def token_losses(self, tokens_BT: Tensor, targets_BT: Tensor) -> Tensor:
        """Return the cross-entropy (B, T) of each target in nats."""
        return self.scores(tokens_BT, targets_BT, normaliser=False)[0]

    def scores(self, tokens_BT: Tensor, targets_BT: Tensor, *, normaliser: bool) -> tuple[Tensor, Tensor | None]:
        """Return the cross-entropy (B, T) of each target in nats, and on request log Z (B, T), the logits' log-sum-exp.

        More than `logits_at_once` logits are made in parts, and made again for the gradient: their memory is bounded.
        """
        hidden_NC, targets_N = self.hidden(tokens_BT).flatten(0, 1), targets_BT.reshape(-1)
        at_once = max(1, self.logits_at_once // self.padded)
        if len(targets_N) <= at_once:
            losses_N, log_z_N = self._head_scores(hidden_NC, targets_N, normaliser)
        else:
            pairs = zip(torch.split(hidden_NC, at_once), torch.split(targets_N, at_once), strict=True)
            found = [checkpoint(self._head_scores, *pair, normaliser, use_reentrant=False) for pair in pairs]
            losses_N = torch.cat([losses for losses, _ in found])
            log_z_N = torch.cat([log_z for _, log_z in found]) if normaliser else None
        return losses_N.view(targets_BT.shape), None if log_z_N is None else log_z_N.view(targets_BT.shape)

    def row_losses(self, tokens_BT: Tensor, targets_BT: Tensor) -> Tensor:
        """Return the summed cross-entropy (B,) of each row in nats."""
        return self.token_losses(tokens_BT, targets_BT).sum(1)

    def parameter_count(self, *, norms: bool = True) -> int:
        """Return the number of parameters, with or without vectors (the gains of norms, biases); no padding."""
        embeddings = 1 if self.shape.tied_head else 2
        padding = (self.padded - self.vocabulary) * self.shape.width * embeddings
        return sum(p.numel() for p in self.parameters() if norms or p.ndim > 1) - padding

    def _head_scores(self, hidden_NC: Tensor, targets_N: Tensor, normaliser: bool) -> tuple[Tensor, Tensor | None]:
        logits_NP = self._padded_logits(hidden_NC)
        if logits_NP.dtype is torch.bfloat16:
            logits_NP = logits_NP.float()  # sums of exponentials need more digits than products do
        if self.padded > self.vocabulary:
            # A capped logit is what the gradient of tanh is made from: it must not be written over.
            logits_NP = logits_NP.clone() if self.shape.logit_cap else logits_NP
            logits_NP[:, self.vocabulary :] = -math.inf
        losses_N = functional.cross_entropy(logits_NP, targets_N, reduction="none")
        return losses_N, logits_NP.logsumexp(1) if normaliser else None

    def _padded_logits(self, hidden_C: Tensor) -> Tensor:
        logits_P = linear(hidden_C, self.head_weight)
        cap = self.shape.logit_cap
        return cap * torch.tanh(logits_P / cap) if cap else logits_P


def build_model(shape: ModelShape, vocabulary: int, seed: int, device: str | torch.device = "cpu") -> GPT:
    """Return a model with weights drawn from `seed`: the same on every device, the global generators untouched."""
    with torch.device("meta"):
        model = GPT(shape, vocabulary)
    model.to_empty(device="cpu")
    initialise(model, torch.Generator().manual_seed(seed))
    return model.to(device)


def initialise(model: GPT, generator: torch.Generator) -> None:
    """Fill a CPU model: gains 1, biases 0, matrices normal with deviation 0.02, smaller where they write to the stream.

    Padding is zero and draws nothing, so that a padded model starts as the same model.
    """
    residual = INIT_STD / math.sqrt(2 * model.shape.layers)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1:
                parameter.fill_(0.0 if name.endswith("bias") else 1.0)
                continue
            if name in PADDED:
                parameter.zero_()
            real = parameter[: model.vocabulary] if name in PADDED else parameter
            real.normal_(0.0, residual if name.endswith(".out.weight") else INIT_STD, generator=generator)
