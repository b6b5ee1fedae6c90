"""The embedding: which tokens lie next to some words, how long the vectors are, and how much they point one way."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, Vector, number

if TYPE_CHECKING:
    from andrea_core import ModelView

WORDS = ("the", "he", "in", "was", "water", "good")


@attrs.frozen
class Embedding:
    """Measure the vectors of the vocabulary's tokens (V, C), and the cosine neighbours of `words`.

    `neighbours` is a text, a line a word: its `nearest` tokens with their cosines (Mikolov et al. 2013, arXiv
    1301.3781); `cosines` (words, nearest) are the same numbers, NaN where a word has no token or the vocabulary is too
    small. A word of several tokens stands as the mean of their vectors, and its
    own tokens are no neighbours. `norm_mean`, `norm_sd`, `norm_least` and `norm_largest` are of all tokens' vectors;
    `alignment` is the mean cosine of two different tokens' vectors, by (|sum of unit vectors|^2 - V) / (V (V - 1)): 0
    for directions without preference, near 1 in a narrow cone (Ethayarajh 2019, arXiv 1909.00512). Vectors of length 0
    count in no cosine. Cost: no pass of the model, O(V C (1 + words)).
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    measures: ClassVar[tuple[str, ...]] = ("norm_mean", "norm_sd", "norm_least", "norm_largest", "alignment")
    arrays: ClassVar[tuple[str, ...]] = ("cosines",)

    words: tuple[str, ...] = WORDS
    nearest: int = number(default=5, at_least=1, at_most=100)

    def start(self, sources: Sources) -> None:
        """There is nothing to remember."""

    def measure(
        self, state: None, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], None]:
        """Measure neighbours, norms and alignment."""
        vectors = view.embedding()
        if not np.isfinite(vectors).all():
            return {"norm_mean": Measurement(math.nan, "nonfinite")}, None
        lengths = np.linalg.norm(vectors, axis=1)
        found = {
            "norm_mean": Measurement(float(lengths.mean())),
            "norm_sd": Measurement(float(lengths.std())),
            "norm_least": Measurement(float(lengths.min())),
            "norm_largest": Measurement(float(lengths.max())),
            "alignment": _known(alignment(vectors)),
        }
        if self.words:
            found |= self._neighbours(view, vectors)
        return found, None

    def _neighbours(self, view: "ModelView", vectors: Vector) -> dict[str, Measurement]:
        cosines, lines = np.full((len(self.words), self.nearest), np.nan), []
        for row, word in enumerate(self.words):
            tokens, near = neighbours(vectors, np.asarray(view.tokenizer.encode(word), np.int64), self.nearest)
            cosines[row, : len(near)] = near
            shown = (f"{_shown(view, token)} {c:.3f}" for token, c in zip(tokens, near, strict=True))
            lines.append(f"{word}: {', '.join(shown)}")
        status = "ok" if np.isfinite(cosines).all() else "missing"
        return {
            "neighbours": Measurement("\n".join(lines)),
            "cosines": Measurement(cosines, status, ("word", "neighbour")),
        }


def unit(vectors_VC: Vector) -> Vector:
    """Return vectors of length 1, and 0 for those of length 0."""
    lengths = np.linalg.norm(vectors_VC, axis=-1, keepdims=True)
    return np.asarray(vectors_VC / np.where(lengths > 0, lengths, 1))


def alignment(vectors_VC: Vector) -> float:
    """Return the mean cosine over pairs of different vectors that have a length; NaN with fewer than two."""
    units = unit(vectors_VC)
    count = int((np.linalg.norm(units, axis=1) > 0.5).sum())
    total = float((units.sum(0) ** 2).sum())
    return (total - count) / (count * (count - 1)) if count > 1 else math.nan


def neighbours(vectors_VC: Vector, tokens: np.ndarray, count: int) -> tuple[list[int], Vector]:
    """Return the tokens with the largest cosine to the mean of some tokens' vectors, and the cosines."""
    if not len(tokens):
        return [], np.zeros(0)
    cosines = unit(vectors_VC) @ unit(vectors_VC[tokens].mean(0))
    cosines[tokens] = -np.inf
    order = np.argsort(-cosines, kind="stable")[:count]
    order = order[np.isfinite(cosines[order])]
    return order.tolist(), np.asarray(cosines[order])


def _shown(view: "ModelView", token: int) -> str:
    return "separator" if token == view.tokenizer.separator else repr(view.tokenizer.decode([token]))


def _known(value: float) -> Measurement:
    return Measurement(value, "ok" if math.isfinite(value) else "missing")
