"""Attention, head by head: where its weights lie on a prompt, and which directions its queries and keys span."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, Vector, number
from andrea_plugins.probes import attention_maps as maps, head_geometry as geometry

if TYPE_CHECKING:
    from andrea_core import Heads, ModelView

PROMPT = "The harbour was quiet when we came down to the water, and only a few of the boats had their lamps lit."
MOST = 2**16
"""A measurement of a probe has at most so many numbers."""

HEADS, PAIRS, MAPS = ("layer", "head"), ("layer", "head", "other"), ("layer", "head", "query", "key")


@attrs.frozen
class Attention:
    """Read every head's softmax(Q K' / sqrt(d_k)) on a prompt, with and without sqrt(d_k), and its W_Q W_K'.

    Source: Vaswani et al. 2017, section 3.2.1; entropy and its collapse: Zhai et al. 2023 (arXiv 2303.06296); sink:
    Xiao et al. 2023 (arXiv 2309.17453); effective rank: Roy, Vetterli 2007; principal angles: Bjorck, Golub 1973.

    Measured, each (layers, heads): `entropy`, the mean over positions t >= 1 of H(weights) / ln(t + 1);
    `entropy_unscaled`, the same without the division by sqrt(d_k); `largest_score`, over visible keys; `sink`, the
    mean weight on the first token; `distance`, tokens back on average; `core_largest`, `core_rank`, `core_components`:
    of the singular values of W_Q' W_K the first, the effective rank exp(H(s / sum s)), and how many hold 90 % of their
    squares; `score_rank` and `score_components`: the same of the scores q k' of this prompt. (layers, heads, heads):
    `query_overlap` and `key_overlap`, |U_g' U_h|_F^2 / d_k of the heads' subspaces, d_k / d_model for random ones.
    `weights` (layers, heads, shown, shown) are the weights of the first `shown` tokens, of so many of them that the
    record can hold their 2**16 numbers; 0 keeps none. `random_overlap`
    is d_k / d_model.

    The prompt, after a separator, is cut to `tokens` tokens. Cost: one forward pass, and small singular value
    decompositions. Status `nonfinite` where the model's numbers are not finite, `missing` where one token or head has
    nothing to compare.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    measures: ClassVar[tuple[str, ...]] = ("random_overlap",)
    arrays: ClassVar[tuple[str, ...]] = (
        "entropy",
        "entropy_unscaled",
        "largest_score",
        "sink",
        "distance",
        "score_rank",
        "score_components",
        "core_*",
        "*_overlap",
        "weights",
    )

    prompt: str = PROMPT
    tokens: int = number(default=32, at_least=2, at_most=1024)
    shown: int = number(default=16, at_least=0, at_most=64)

    def start(self, sources: Sources) -> None:
        """There is nothing to remember."""

    def measure(
        self, state: None, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], None]:
        """Measure every head."""
        text = [view.tokenizer.separator, *map(int, view.tokenizer.encode(self.prompt))]
        heads = view.heads(np.array(text[: min(self.tokens, view.shape.context)]))
        if not all(np.isfinite(part).all() for part in attrs.astuple(heads, recurse=False)):
            return {"entropy": Measurement(np.full(heads.queries.shape[:2], np.nan), "nonfinite", HEADS)}, None
        found = {**attended(heads), **spanned(heads)}
        found |= self._maps(heads)
        ratio = heads.queries.shape[-1] / heads.query_weights.shape[-1]
        return found | {"random_overlap": Measurement(ratio)}, None

    def _maps(self, heads: "Heads") -> dict[str, Measurement]:
        # Weights are causal: those of the first tokens are the same whatever follows.
        layers, count = heads.queries.shape[:2]
        first = slice(0, min(self.shown, math.isqrt(MOST // (layers * count))))
        if not first.stop:
            return {}
        weights = maps.causal_weights(maps.scores(heads.queries[:, :, first], heads.keys[:, :, first]))
        return {"weights": Measurement(weights, axes=MAPS)}


def attended(heads: "Heads") -> dict[str, Measurement]:
    """Return what the heads' weights on the prompt measure, each (layers, heads)."""
    scores = maps.scores(heads.queries, heads.keys)
    weights = maps.causal_weights(scores)
    unscaled = maps.causal_weights(maps.scores(heads.queries, heads.keys, scaled=False))
    spectrum = np.asarray(np.linalg.svd(scores, compute_uv=False), np.float64)
    return {
        "entropy": _each(maps.entropy(weights), HEADS),
        "entropy_unscaled": _each(maps.entropy(unscaled), HEADS),
        "largest_score": _each(maps.largest_score(scores), HEADS),
        "sink": _each(maps.sink(weights), HEADS),
        "distance": _each(maps.distance(weights), HEADS),
        "score_rank": _each(geometry.effective_rank(spectrum), HEADS),
        "score_components": _each(geometry.components(spectrum), HEADS),
    }


def spanned(heads: "Heads") -> dict[str, Measurement]:
    """Return what the heads' weight matrices span: spectra (layers, heads), overlaps (layers, heads, heads)."""
    spectrum = geometry.core_spectrum(heads.query_weights, heads.key_weights)
    queries, keys = (geometry.overlaps(weights) for weights in (heads.query_weights, heads.key_weights))
    return {
        "core_largest": _each(spectrum[..., 0], HEADS),
        "core_rank": _each(geometry.effective_rank(spectrum), HEADS),
        "core_components": _each(geometry.components(spectrum), HEADS),
        "query_overlap": _each(queries, PAIRS),
        "key_overlap": _each(keys, PAIRS),
        "mean_query_overlap": _each(geometry.mean_overlap(queries), ("layer",)),
        "mean_key_overlap": _each(geometry.mean_overlap(keys), ("layer",)),
    }


def _each(values: Vector, axes: tuple[str, ...]) -> Measurement:
    return Measurement(values, "ok" if np.isfinite(values).all() else "missing", axes)
