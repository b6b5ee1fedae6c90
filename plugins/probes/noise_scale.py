"""The gradient noise scale: the batch size at which noise and signal of the gradient are equal."""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, Vector, fraction, number, one_of
from andrea_plugins.probes.perturbing import side_windows

if TYPE_CHECKING:
    from andrea_core import ModelView


@attrs.frozen
class Averages:
    """Moving averages of |G|^2 and S, and the weight that they have gathered so far (1 at last)."""

    signal: float = 0.0
    noise: float = 0.0
    weight: float = 0.0


@attrs.frozen
class NoiseScale:
    """Measure B_simple = S / |G|^2, with G the true gradient and S the trace of the covariance of a window's gradient.

    Source: McCandlish et al. 2018 (arXiv 1812.06162), appendix A.1. From |g|^2 at two batch sizes b < B, in windows:
    |G|^2 = (B |g_B|^2 - b |g_b|^2) / (B - b) and S = (|g_b|^2 - |g_B|^2) / (1 / b - 1 / B), both unbiased. B is the
    whole sample of at most `windows` windows, in random order; |g_b|^2 is the mean over its batches of `small`.
    `signal` and `noise` are moving averages of the two over looks, `memory` the weight of the past; `scale`, in
    windows, and `scale_tokens` are their ratio: a mean of ratios would be biased upward. `scale` is `undetermined`
    while the estimate of |G|^2 is not positive: take more windows. It is a figure of the text on that `side`, all
    sources in equal parts, not of the run's present weights. Windows that are shorter than the context are left out.
    Cost: `windows` gradients of one window.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    measures: ClassVar[tuple[str, ...]] = ("signal", "noise", "scale", "scale_tokens")

    windows: int = number(default=32, at_least=2)
    small: int = number(default=2, at_least=1)
    memory: float = fraction(default=0.9)
    side: str = one_of("train", "heldout", default="train")

    def start(self, sources: Sources) -> Averages:
        """Return averages of nothing."""
        return Averages()

    def measure(
        self, state: Averages, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], Averages]:
        """Measure the noise scale."""
        context = view.shape.context
        windows = side_windows(view, self.windows * context, self.side)
        whole = [of_source for of_source in windows if of_source.shape[1] == context + 1]
        rows = rng.permutation(np.concatenate(whole))[: self.windows] if whole else np.empty((0, context + 1), np.int64)
        batches = [rows[start : start + self.small] for start in range(0, len(rows) - self.small + 1, self.small)]
        if len(batches) < 2:
            return {"scale": Measurement(math.nan, "missing")}, state
        gradients = (view.objective([batch]).gradient().double().cpu().numpy() for batch in batches)
        return self.scale(state, *two_batch(gradients, self.small), context)

    def scale(
        self, state: Averages, signal: float, noise: float, tokens: int
    ) -> tuple[dict[str, Measurement], Averages]:
        """Return the measurements after one more pair of estimates, and the averages with it."""
        if not (math.isfinite(signal) and math.isfinite(noise)):
            return {"scale": Measurement(math.nan, "nonfinite")}, state
        new, weight = 1 - self.memory, self.memory * state.weight + 1 - self.memory
        if not new:  # a memory of 1 keeps the first estimates
            new, weight = (0.0, 1.0) if state.weight else (1.0, 1.0)
        after = Averages((1 - new) * state.signal + new * signal, (1 - new) * state.noise + new * noise, weight)
        signal, noise = after.signal / weight, after.noise / weight
        ratio = noise / signal if signal > 0 and noise >= 0 else math.nan
        status = "ok" if math.isfinite(ratio) else "undetermined"
        return {
            "signal": Measurement(signal),
            "noise": Measurement(noise),
            "scale": Measurement(ratio, status),
            "scale_tokens": Measurement(ratio * tokens, status),
        }, after


def two_batch(gradients: Iterable[Vector], small: int) -> tuple[float, float]:
    """Return unbiased estimates of |G|^2 and S from the gradients (n,) of at least two batches of `small` windows."""
    total, squares, count = np.zeros(1), 0.0, 0
    for gradient in gradients:
        total, squares, count = total + gradient, squares + float(gradient @ gradient), count + 1
    large = small * count
    of_small, of_large = squares / count, float(total @ total) / count**2
    signal = (large * of_large - small * of_small) / (large - small)
    return signal, (of_small - of_large) / (1 / small - 1 / large)
