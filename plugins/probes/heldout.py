"""Held-out loss of each source in bits per byte, comparable across tokenizers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, Vector, number

if TYPE_CHECKING:
    from andrea_core import ModelView


@attrs.frozen
class Heldout:
    """Bits per byte on up to `tokens` held-out tokens of each source, the same ones at every measurement.

    The nats of all predicted tokens that stand for text, divided by ln 2 and by their UTF-8 bytes; separators count in
    neither. NaN for a source without held-out text. `bits_per_byte_error` is the standard error over the windows.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    measures: ClassVar[tuple[str, ...]] = ("bits_per_byte", "bits_per_byte_error")
    group: ClassVar[str] = "eval"

    tokens: int = number(default=8192, at_least=1)

    def start(self, sources: Sources) -> None:
        """There is nothing to remember."""

    def measure(
        self, state: None, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], None]:
        """Measure `bits_per_byte` and `bits_per_byte_error`, each (K,)."""
        windows = [view.heldout(index, self.tokens) for index in range(len(view.sources))]
        bits, errors = np.array([view.bits_and_error(of_source) for of_source in windows]).T
        return {"bits_per_byte": _known(bits), "bits_per_byte_error": _known(errors)}, None


def _known(values: Vector) -> Measurement:
    return Measurement(values, "ok" if np.isfinite(values).all() else "missing")
