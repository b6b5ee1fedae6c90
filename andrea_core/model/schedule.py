"""The learning rate as a pure function of the step: linear warm-up, then cosine decay or a constant."""

import math

from andrea_core.model.settings import OptimizerSettings


def learning_rate(step: int, settings: OptimizerSettings, total_steps: int) -> float:
    """Return the learning rate of the 0-based `step` of a run of `total_steps`.

    During warm-up it is lr * (step + 1) / warmup, so the last warm-up step runs at the peak. The cosine (Loshchilov,
    Hutter 2017) then falls to `final` * lr, which the last step of the run reaches.
    """
    if step < settings.warmup:
        return settings.lr * (step + 1) / settings.warmup
    if settings.schedule == "constant":
        return settings.lr
    start = max(settings.warmup - 1, 0)
    progress = min(1.0, (step - start) / max(1, total_steps - 1 - start))
    shape = 0.5 * (1.0 + math.cos(math.pi * progress))
    return settings.lr * (settings.final + (1.0 - settings.final) * shape)
