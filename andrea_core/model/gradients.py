"""Source gradients: how the losses of the sources pull on the parameters, as tables of inner products.

Shape suffixes: K sources, B gradients held together, P parameters.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np
import torch
from torch import Tensor

from andrea_core.data.windows import drawn_windows
from andrea_core.errors import RunError
from andrea_core.model.gpt import GPT
from andrea_core.model.quiet import evaluating
from andrea_core.rng import generator
from andrea_core.values import Gradients, Integers, Mask, Vector

if TYPE_CHECKING:
    from andrea_core.data.corpus import Corpus
    from andrea_core.data.tokenfiles import Tokens

WINDOWS = 4
"""Windows of text a source and kind, training or held out, that a gradient is the mean over."""

HELD_BYTES = {"cpu": 2**30, "cuda": 2**33}
"""What the gradients that are held together may take; with less room they are computed in several rounds."""

MOST_PASSES = 4096
"""Backward passes a phase beyond which a run is refused: they would take longer than the training between them."""

COLUMNS = 2**16
"""Parameters multiplied at once: what bounds the memory of their copies in double precision."""


@attrs.frozen(eq=False)
class GradientMeter:
    """Measures the gradients of the active sources at the end of a phase, and leaves the model as it was.

    Each is the gradient of the mean loss, dropout off, over `windows` windows of text from places drawn for this phase
    alone, so that errors average out over phases. Memory: B + 2 gradients of 4 P bytes, as many held (B, at most K) as
    `held_bytes` has room for. Time: 2 K backward passes if all of them can be held, else up to K (3 K + 1) / 2.
    Raises RunError, with the numbers, when these are more than 4,096.
    """

    model: GPT
    corpus: "Corpus"
    seed: int
    windows: int = WINDOWS
    held_bytes: int | None = None

    def __attrs_post_init__(self) -> None:
        refuse_excess(len(self.corpus.sources), _size(self.model), self._room())

    def measure(self, active: Mask, phase: int) -> Gradients:
        """Return the tables (K, K) at the end of a phase; NaN for a source that is not active, or without such text."""
        train, heldout = (
            [self._draw(k, phase, kind, active) for k in range(len(active))] for kind in ("train", "heldout")
        )
        return gradient_tables(self.model, train, heldout, self._room())

    def _draw(self, index: int, phase: int, kind: str, active: Mask) -> Integers:
        source = self.corpus.sources[index]
        text: Tokens = source.train if kind == "train" else source.heldout
        return drawn_windows(
            text.tokens,
            text.offsets,
            separator=self.corpus.tokenizer.separator,
            context=self.model.shape.context,
            count=self.windows if active[index] else 0,
            rng=generator(self.seed, f"gradients {kind}", source.name, phase),
        )

    def _room(self) -> int:
        kind = next(self.model.parameters()).device.type
        return HELD_BYTES.get(kind, HELD_BYTES["cpu"]) if self.held_bytes is None else self.held_bytes


def refuse_excess(count: int, parameters: int, held_bytes: int) -> None:
    """Raise RunError when the gradients of `count` sources would take more than MOST_PASSES backward passes a phase."""
    together = held_together(count, parameters, held_bytes)
    passes = sum(len(block) + 2 * count - block[-1] - 1 for block in _blocks(list(range(count)), together))
    if passes > MOST_PASSES:
        raise RunError(
            f"the gradients of {count:,} sources, {4 * parameters:,} bytes each and {together:,} held together, "
            f"would take {passes:,} backward passes after every phase, more than {MOST_PASSES:,}; use fewer sources, "
            "a smaller model, or a policy and a reward that do not need source_gradients"
        )


def held_together(count: int, parameters: int, held_bytes: int) -> int:
    """Return how many gradients of float32 are held at a time: at least 1, at most one a source."""
    return max(1, min(count, held_bytes // (4 * parameters)))


def gradient_tables(
    model: GPT, train: Sequence[Integers], heldout: Sequence[Integers], held_bytes: int = HELD_BYTES["cpu"]
) -> Gradients:
    """Return <g_i, g_j> and <g_i, h_j>, (K, K) each, of mean losses on windows (n, T + 1) of each source.

    NaN where either has no windows (n = 0), or a product is not finite. Products are summed in double precision. The
    parameters, their `grad`, the modes of the modules and the global generators stay as they are.
    """
    tables = np.full((2, len(train), len(train)), np.nan)
    known = [k for k, windows in enumerate(train) if len(windows)]
    size = _size(model)
    spare_P = torch.empty(size, device=next(model.parameters()).device)
    with evaluating(model), torch.enable_grad():
        for block in _blocks(known, held_together(len(known), size, held_bytes)):
            held_BP = torch.empty(len(block), size, device=spare_P.device)
            for place, k in enumerate(block):
                _gradient(model, train[k], held_BP[place])
            for place, k in enumerate(block):
                tables[0, block[place:], k] = tables[0, k, block[place:]] = _products(held_BP[place:], held_BP[place])
            for k in known[known.index(block[-1]) + 1 :]:
                tables[0, block, k] = tables[0, k, block] = _products(held_BP, _gradient(model, train[k], spare_P))
            for k, windows in enumerate(heldout):
                if len(windows):
                    tables[1, block, k] = _products(held_BP, _gradient(model, windows, spare_P))
    tables[~np.isfinite(tables)] = np.nan
    return Gradients(tables[0], tables[1])


def _size(model: GPT) -> int:
    return sum(p.numel() for p in model.parameters())


def _blocks(items: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _gradient(model: GPT, windows: Integers, out_P: Tensor) -> Tensor:
    """Write the gradient of the mean loss in nats a token to `out_P` (P,), and return that."""
    parameters = list(model.parameters())
    tokens = torch.from_numpy(np.array(windows, dtype=np.int64)).to(out_P.device)
    loss = model.token_losses(tokens[:, :-1], tokens[:, 1:]).mean()
    parts = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
    for place, part in zip(torch.split(out_P, [p.numel() for p in parameters]), parts, strict=True):
        place.copy_(part.reshape(-1))
    return out_P


def _products(held_BP: Tensor, gradient_P: Tensor) -> Vector:
    """Return the inner products (B,) in double precision."""
    total = np.zeros(len(held_BP))
    for start in range(0, gradient_P.shape[0], COLUMNS):
        part = slice(start, start + COLUMNS)
        total += (_double(held_BP[:, part]) @ _double(gradient_P[part])).cpu().numpy()
    return total


def _double(tensor: Tensor) -> Tensor:
    # Apple's GPUs have no double precision.
    return (tensor.cpu() if tensor.device.type == "mps" else tensor).to(torch.float64)
