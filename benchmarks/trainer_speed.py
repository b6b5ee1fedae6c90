"""Tokens a second of the trainer at laptop size, and what of a step is neither model nor optimiser.

Run `python benchmarks/trainer_speed.py [THREADS]`. Medians over steps; other load on the machine shows.
"""

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from andrea_core.model.settings import PRESETS, OptimizerSettings
from andrea_core.model.trainer import Trainer

ROWS, WARM, STEPS = 16, 10, 60


class Inside:
    """Adds up the seconds spent in the calls that it wraps."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def wrap(self, owner: Any, name: str) -> None:
        """Replace a method by one that is timed."""
        setattr(owner, name, self._timed(getattr(owner, name)))

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return call(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - start

        return timed


def main() -> None:
    """Measure and print one line; the argument is the number of threads."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    torch.set_num_threads(threads)
    shape = PRESETS["laptop"]
    trainer = Trainer(shape, OptimizerSettings(), vocabulary=257, rows=ROWS, total_steps=1000, seed=0)
    inside = Inside()
    inside.wrap(trainer.model, "token_losses")
    inside.wrap(torch.Tensor, "backward")
    inside.wrap(trainer, "_clip")
    inside.wrap(trainer.optimizer, "step")
    inside.wrap(trainer.optimizer, "zero_grad")
    tokens = np.random.default_rng(0).integers(0, 257, (ROWS, shape.context + 1))
    wall, outside = [], []
    trainer.begin(WARM + STEPS)
    for _ in range(WARM + STEPS):
        start, inside.seconds = time.perf_counter(), 0.0
        trainer.step(tokens[:, :-1], tokens[:, 1:])
        wall.append(time.perf_counter() - start)
        outside.append(wall[-1] - inside.seconds)
    step, rest = statistics.median(wall[WARM:]), statistics.median(outside[WARM:])
    rate = ROWS * shape.context / step
    print(f"{threads} threads: {1e3 * step:.1f} ms a step, {rate:,.0f} tokens/s, {100 * rest / step:.2f} % outside")


if __name__ == "__main__":
    main()
