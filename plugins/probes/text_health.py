"""The coherence gate: samples text, scores it, and ends a run that only repeats itself."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, number
from andrea_plugins.probes.coherence import coherence

if TYPE_CHECKING:
    from andrea_core import ModelView


@attrs.frozen
class TextHealth:
    """Score sampled text from 0 to 100 and stop the run after `patience` samples in a row below `floor`.

    Score, floor and patience are those of ANDREA's gate, which would have stopped its v1 run; `coherence` states the
    formulas, which are this project's. The score sees repetition and broken text; it is no measure of sense: a young
    model's invented words pass. `patience` 0 never stops a run. A sample is `tokens` long; an empty `prompt` starts a
    new document; `top_k` 0 draws from all tokens.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    group: ClassVar[str] = "samples"

    tokens: int = number(default=420, at_least=1)
    prompt: str = ""
    temperature: float = number(default=0.8, at_least=0)
    top_k: int = number(default=40, at_least=0)
    floor: float = number(default=30.0, at_least=0, at_most=100)
    patience: int = number(default=5, at_least=0)

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
        if self.patience and low >= self.patience:
            reason = (
                f"{low} samples in a row scored below {self.floor:g} (this one {parts.score:.1f}): the text is broken"
            )
            found["stop"] = Measurement(reason)
        return found, low
