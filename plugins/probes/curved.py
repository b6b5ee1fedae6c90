"""What the curvature probes share: the text they look at, and values with their status."""

import math
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, Vector, number, one_of, positive

if TYPE_CHECKING:
    from andrea_core import Eigenpairs, ModelView, Objective

ROUNDING = {4: 1e-4, 8: 1e-8}
"""The largest asymmetry that rounding explains, by the bytes of a number."""


@attrs.frozen
class Curved:
    """The settings of a probe of the loss's curvature on fixed text, and that loss; nothing is remembered."""

    needs: ClassVar[frozenset[str]] = frozenset()

    tokens: int = number(default=1024, at_least=1)
    side: str = one_of("train", "heldout", default="train")
    text: str = one_of("all", "stage", default="all")
    double: bool = False
    seconds: float | None = positive(default=None)

    def start(self, sources: Sources) -> None:
        """There is nothing to remember."""

    def objective(self, view: "ModelView") -> "Objective | None":
        """Return the loss on `tokens` fixed tokens of all sources, or of the present stage's; None without text."""
        stage = view.stage if self.text == "stage" else ""
        windows = view.stage_windows(stage, self.tokens, "heldout" if self.side == "heldout" else "train")
        return view.objective(windows, double=self.double) if windows else None


def eigen_status(pairs: "Eigenpairs", bytes_a_number: int) -> str:
    """Return the status of eigenpairs: `asymmetric` where rounding does not explain how much the operator is so."""
    return "asymmetric" if pairs.asymmetry > ROUNDING[bytes_a_number] else pairs.status


def valued(value: float, status: str = "ok") -> Measurement:
    """Return a measurement; one that is not finite and not explained by its status is `nonfinite`."""
    return Measurement(value, status if math.isfinite(value) or status != "ok" else "nonfinite")


def padded(values: Vector, length: int) -> Vector:
    """Return values (length,) with NaN where there are fewer."""
    return np.concatenate([values, np.full(length, np.nan)])[:length]
