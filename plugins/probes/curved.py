"""What the curvature probes share: the text they look at, and values with their status."""

import math
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Integers, Measurement, Sources, Trained, Vector, number, one_of, positive

if TYPE_CHECKING:
    from andrea_core import Eigenpairs, ModelView, Objective

ROUNDING = {4: 1e-4, 8: 1e-8}
"""The largest asymmetry that rounding explains, by the bytes of a number."""


@attrs.frozen
class Curved:
    """The settings of a probe of the loss's curvature on some text, and that loss; nothing is remembered.

    The text is fixed (of `all` sources, or the present `stage`'s), or the `phase`'s: the rows trained last, as many as
    `tokens` holds. A preconditioner fits the text whose gradients it was made of: where a token has not come yet it is
    eps, and on text with that token the ratio says how small eps is.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    tokens: int = number(default=1024, at_least=1)
    side: str = one_of("train", "heldout", default="train")
    text: str = one_of("all", "stage", "phase", default="all")
    double: bool = False
    seconds: float | None = positive(default=None)

    def start(self, sources: Sources) -> None:
        """There is nothing to remember."""

    def objective(self, view: "ModelView") -> "Objective | None":
        """Return the loss on `tokens` tokens of the text that is asked for; None without text."""
        windows = self._windows(view)
        return view.objective(windows, double=self.double) if windows else None

    def _windows(self, view: "ModelView") -> list[Integers]:
        if self.text == "phase":
            return newest_rows(view.trained, self.tokens) if view.trained else []
        stage = view.stage if self.text == "stage" else ""
        return view.stage_windows(stage, self.tokens, "heldout" if self.side == "heldout" else "train")


def newest_rows(trained: Trained, tokens: int) -> list[Integers]:
    """Return the rows (n, T + 1) that a phase trained last, together at most `tokens` tokens, but at least one row."""
    places = list(zip(trained.source.ravel().tolist(), trained.position.ravel().tolist(), strict=True))[::-1]
    first = trained.row(*places[0])
    rest = [trained.row(*place) for place in places[1 : max(1, tokens // (len(first) - 1))]]
    return [np.stack([first, *rest])]


def eigen_status(pairs: "Eigenpairs", bytes_a_number: int) -> str:
    """Return the status of eigenpairs: `asymmetric` where rounding does not explain how much the operator is so."""
    return "asymmetric" if pairs.asymmetry > ROUNDING[bytes_a_number] else pairs.status


def valued(value: float, status: str = "ok") -> Measurement:
    """Return a measurement; one that is not finite and not explained by its status is `nonfinite`."""
    return Measurement(value, status if math.isfinite(value) or status != "ok" else "nonfinite")


def padded(values: Vector, length: int) -> Vector:
    """Return values (length,) with NaN where there are fewer."""
    return np.concatenate([values, np.full(length, np.nan)])[:length]
