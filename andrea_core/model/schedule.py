"""The learning rate as a pure function of the step: linear warm-up, then cosine, WSD, inverse root or a constant."""

import math
from collections.abc import Callable, Mapping

from andrea_core.model.settings import OptimizerSettings


def learning_rate(step: int, settings: OptimizerSettings, total_steps: int) -> float:
    """Return the learning rate of the 0-based `step` of a run of `total_steps`.

    During warm-up it is lr * (step + 1) / warmup, so the last warm-up step runs at the peak. After it:
    `cosine` (Loshchilov, Hutter 2017) falls to `final` * lr, which the last step of the run reaches;
    `wsd`, warm-up, stable, decay, keeps the peak until the last `decay` of the run, then falls to `final` * lr like
    1 - sqrt(progress) (Hägele et al. 2024, 2405.18392); `inverse_sqrt` falls like sqrt(warmup / (step + 1)) (Vaswani et
    al. 2017); `constant` stays.
    """
    if step < settings.warmup:
        return settings.lr * (step + 1) / settings.warmup
    return settings.lr * _SHAPES[settings.schedule](step, settings, total_steps)


def _cosine(step: int, settings: OptimizerSettings, total_steps: int) -> float:
    start = max(settings.warmup - 1, 0)
    progress = min(1.0, (step - start) / max(1, total_steps - 1 - start))
    return settings.final + (1.0 - settings.final) * 0.5 * (1.0 + math.cos(math.pi * progress))


def _wsd(step: int, settings: OptimizerSettings, total_steps: int) -> float:
    span = round(settings.decay * total_steps)
    left = total_steps - 1 - step
    if left >= span:
        return 1.0
    progress = min(1.0, (span - left) / span)
    return settings.final + (1.0 - settings.final) * (1.0 - math.sqrt(progress))


def _inverse_sqrt(step: int, settings: OptimizerSettings, _total_steps: int) -> float:
    return math.sqrt(max(settings.warmup, 1) / (step + 1))


def _constant(_step: int, _settings: OptimizerSettings, _total_steps: int) -> float:
    return 1.0


_SHAPES: Mapping[str, Callable[[int, OptimizerSettings, int], float]] = {
    "cosine": _cosine,
    "wsd": _wsd,
    "inverse_sqrt": _inverse_sqrt,
    "constant": _constant,
}
