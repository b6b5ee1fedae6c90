"""The coherence gate: samples text, scores it, and ends a run that only repeats itself."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, number
from andrea_plugins.probes.coherence import Coherence, coherence
from andrea_plugins.probes.repetition import compression, longest_loop, recent_repetition, sequence_repetition

if TYPE_CHECKING:
    from andrea_core import ModelView

REPEATED = ("seq_rep_1", "seq_rep_2", "seq_rep_3", "seq_rep_4", "recent_rep", "loop", "loop_period", "compression")
RECENT = 16  # words back in which a word counts as repeated


@attrs.frozen
class TextHealth:
    """Score sampled text from 0 to 100 and stop the run after `patience` samples in a row below `floor`.

    Score, floor and patience are those of ANDREA's gate, which would have stopped its v1 run; `coherence` states the
    formulas, which are this project's. The score sees repetition and broken text; it is no measure of sense: a young
    model's invented words pass. `patience` 0 never stops a run. A sample is `tokens` long; an empty `prompt` starts a
    new document; `top_k` 0 draws from all tokens.

    Measured besides the score, on the text's words: `seq_rep_1` to `seq_rep_4` (Welleck et al. 2019, arXiv 1908.04319;
    distinct-n of Li et al. 2016 is 1 minus them), `recent_rep`, the share of words among the 16 before them, `loop` and
    `loop_period`, the longest stretch that says the same words over and over, and `compression`, compressed over raw
    bytes. Status `missing` where the text is too short. With `greedy` the likeliest continuation is measured as well,
    as `greedy_text`, `greedy_seq_rep_4` and so on: it loops long before a sample does. Cost: `tokens` steps of
    generation, twice with `greedy`.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    group: ClassVar[str] = "samples"

    tokens: int = number(default=420, at_least=1, at_most=2**20)
    prompt: str = ""
    temperature: float = number(default=0.8, at_least=0)
    top_k: int = number(default=40, at_least=0)
    floor: float = number(default=30.0, at_least=0, at_most=100)
    patience: int = number(default=5, at_least=0)
    greedy: bool = False

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of what is one number."""
        parts = [field.name for field in attrs.fields(Coherence)]
        return ("score", *parts, *REPEATED, *(f"greedy_{name}" for name in REPEATED if self.greedy))

    def start(self, sources: Sources) -> int:
        """Return the number of low samples in a row: none yet."""
        return 0

    def measure(self, state: int, view: "ModelView", rng: np.random.Generator) -> tuple[Mapping[str, Measurement], int]:
        """Measure `text`, `score` and its parts, and `stop` with the reason once patience is spent."""
        text = view.generate(self.prompt, self.tokens, self.temperature, self.top_k, rng)
        parts = coherence(text)
        low = state + 1 if parts.score < self.floor else 0
        found = {"text": Measurement(text), "score": Measurement(parts.score)}
        found |= {name: Measurement(value) for name, value in attrs.asdict(parts).items()}
        found |= repeated(text)
        if self.greedy:
            likeliest = view.generate(self.prompt, self.tokens, 0.0, 0, rng)
            also = {"text": Measurement(likeliest), **repeated(likeliest)}
            found |= {f"greedy_{name}": one for name, one in also.items()}
        if self.patience and low >= self.patience:
            reason = (
                f"{low} samples in a row scored below {self.floor:g} (this one {parts.score:.1f}): the text is broken"
            )
            found["stop"] = Measurement(reason)
        return found, low


def repeated(text: str) -> dict[str, Measurement]:
    """Return how a text repeats itself, word by word."""
    words = text.split()
    found = {f"seq_rep_{n}": sequence_repetition(words, n) for n in range(1, 5)}
    found["recent_rep"] = recent_repetition(words, RECENT)
    found["loop"], found["loop_period"] = map(float, longest_loop(words))
    found["compression"] = compression(text)
    return {name: Measurement(value, "missing" if math.isnan(value) else "ok") for name, value in found.items()}
