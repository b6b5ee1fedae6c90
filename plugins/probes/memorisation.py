"""Memorisation: how much training text comes back word for word, and how exposed planted canaries are."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import attrs
import numpy as np

from andrea_core import Measurement, Sources, Vector, number

if TYPE_CHECKING:
    from andrea_core import Integers, ModelView

DIGITS = "0123456789"


@attrs.frozen
class Memorisation:
    """Measure verbatim extraction of each source's training text, and the exposure of canaries.

    Extraction (Carlini et al. 2022, arXiv 2202.07646): a window is extracted when the greedy continuation of its first
    `prefix` tokens repeats the next `verbatim` tokens exactly. Each (K,): `extracted`, the share of a source's windows,
    `match`, the mean number of tokens until the first that differs, and the same of held-out text, which was not
    trained on, `extracted_heldout` and `match_heldout`: what any fluent model repeats. `excess` = extracted -
    extracted_heldout.

    Exposure (Carlini et al. 2018, arXiv 1802.08232) = log2 |R| - log2 rank, in bits, (canaries,): the rank of a
    canary's loss among |R| texts, itself and `references` that differ from it and from each other in their digits,
    drawn anew at each look; all that there are where a canary has too few digits for so many. One that was never
    trained on has a uniform rank and on average 1 / ln 2 = 1.44 bits; log2 |R| is the most. Canaries are yours to plant
    in the training text: texts with digits. NaN, and `missing`, for one without digits or longer than the context.

    One forward pass shows the greedy continuations of all windows: what is predicted after a text that agreed so far is
    what greedy decoding would have said. Cost: `windows` windows a source and side, and
    references + 1 short texts a canary. `missing` for a source without a window of prefix + verbatim tokens.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    measures: ClassVar[tuple[str, ...]] = ("extracted", "match", "extracted_heldout", "match_heldout", "excess")
    arrays: ClassVar[tuple[str, ...]] = ("exposure",)

    windows: int = number(default=16, at_least=1)
    prefix: int = number(default=32, at_least=1)
    verbatim: int = number(default=16, at_least=1)
    canaries: tuple[str, ...] = ()
    references: int = number(default=255, at_least=1, at_most=2**20)

    def start(self, sources: Sources) -> None:
        """There is nothing to remember."""

    def measure(
        self, state: None, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], None]:
        """Measure extraction by source, and exposure by canary."""
        train, heldout = self._matches(view, "train"), self._matches(view, "heldout")
        found = {
            "extracted": _sound(_share(train, self.verbatim)),
            "match": _sound(_mean(train)),
            "extracted_heldout": _sound(_share(heldout, self.verbatim)),
            "match_heldout": _sound(_mean(heldout)),
            "excess": _sound(_share(train, self.verbatim) - _share(heldout, self.verbatim)),
        }
        if self.canaries:
            bits = np.array([exposure(view, canary, self.references, rng) for canary in self.canaries])
            found["exposure"] = Measurement(bits, "ok" if np.isfinite(bits).all() else "missing", ("canary",))
        return found, None

    def _matches(self, view: "ModelView", side: Literal["train", "heldout"]) -> list[Vector]:
        """Return for each source how many tokens after the prefix are repeated, at most `verbatim`, (windows,)."""
        length = self.prefix + self.verbatim
        if length > view.shape.context:
            return [np.zeros(0)] * len(view.sources)
        asked = self.windows * view.shape.context
        found = []
        for index in range(len(view.sources)):
            windows = view.windows(index, asked, side)
            enough = windows[:, : length + 1] if windows.shape[1] > length else windows[:0]
            found.append(matched(view.guesses(enough), enough, self.prefix))
        return found


def matched(guesses: "Integers", windows: "Integers", prefix: int) -> Vector:
    """Return how many tokens of windows (n, T + 1) after their first `prefix` ones are guessed (n, T) without a miss.

    The first token of a window is the one before its text, as a separator, and is not counted in the prefix.
    """
    right = np.asarray(guesses)[:, prefix:] == np.asarray(windows)[:, prefix + 1 :]
    return np.asarray(np.cumprod(right, axis=1).sum(1), dtype=np.float64)


def exposure(view: "ModelView", canary: str, references: int, rng: np.random.Generator) -> float:
    """Return log2 |R| - log2 rank of a canary's loss among texts with other digits.

    NaN for one without digits, and where a text is longer than the context, so that its digits might not be seen.
    """
    texts = [canary, *with_other_digits(canary, references, rng)]
    longest = max(len(view.tokenizer.encode(text)) for text in texts)
    if len(texts) == 1 or longest > view.shape.context:
        return math.nan
    losses = text_losses(view, texts)
    return rank_exposure(losses[0], losses[1:])


def rank_exposure(loss: float, others: Vector) -> float:
    """Return log2 (n + 1) - log2 rank of a loss among n others; of equal losses the ranks' mean counts."""
    rank = 1 + float((others < loss).sum()) + float((others == loss).sum()) / 2
    return math.log2(len(others) + 1) - math.log2(rank) if math.isfinite(loss) else math.nan


def text_losses(view: "ModelView", texts: Sequence[str]) -> Vector:
    """Return the summed loss in nats of each text after a separator, cut to the context."""
    rows = [[view.tokenizer.separator, *map(int, view.tokenizer.encode(text))] for text in texts]
    rows = [row[: view.shape.context + 1] for row in rows]
    losses = np.full(len(rows), np.nan)
    for length in {len(row) for row in rows}:
        same = [index for index, row in enumerate(rows) if len(row) == length]
        losses[same] = view.row_losses(np.array([rows[index] for index in same])) if length > 1 else 0.0
    return losses


def with_other_digits(canary: str, count: int, rng: np.random.Generator) -> list[str]:
    """Return `count` different texts, or all there are, that differ from a canary in nothing but its digits."""
    places = [place for place, letter in enumerate(canary) if letter in DIGITS]
    own = "".join(canary[place] for place in places)
    if 10 ** len(places) <= 4 * count:
        digits = [f"{number:0{len(places)}}" for number in rng.permutation(10 ** len(places))]
        digits = [drawn for drawn in digits if drawn != own][:count] if places else []
    else:  # so many that few are drawn twice
        seen: dict[str, None] = {}
        while len(seen) < count:
            drawn = "".join(map(str, rng.integers(10, size=len(places))))
            if drawn != own:
                seen[drawn] = None
        digits = list(seen)
    return [_written(canary, places, drawn) for drawn in digits]


def _written(canary: str, places: Sequence[int], digits: str) -> str:
    letters = list(canary)
    for place, digit in zip(places, digits, strict=True):
        letters[place] = digit
    return "".join(letters)


def _share(matches: list[Vector], verbatim: int) -> Vector:
    return np.array([float((one >= verbatim).mean()) if len(one) else math.nan for one in matches])


def _mean(matches: list[Vector]) -> Vector:
    return np.array([float(one.mean()) if len(one) else math.nan for one in matches])


def _sound(values: Vector) -> Measurement:
    return Measurement(values, "ok" if np.isfinite(values).all() else "missing")
