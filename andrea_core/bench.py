"""How fast a scenario trains here: tokens a second, the part of the machine's peak, and where the time goes."""

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import numpy as np

from andrea_core.errors import RunError
from andrea_core.model.settings import ModelShape
from andrea_core.progress import PhaseReport, Progress
from andrea_core.scenario import Loaded
from andrea_core.stopwatch import ACCOUNTS

if TYPE_CHECKING:
    from collections.abc import Callable

SCENARIO = """
name = "bench"
run = { steps = 1_000_000, checkpoint_every = 1_000_000 }
model = { preset = "laptop" }
sampler = { rows = 16 }
phases = { use = "fixed", steps = 20 }
curriculum = { use = "static" }
policy = { use = "ucb1" }
reward = { use = "improvement" }

[sources]
first = { use = "text", files = ["FOLDER/first.txt"] }
second = { use = "text", files = ["FOLDER/second.txt"] }
"""
"""What is measured when no scenario is named; `write_scenario` makes its sources."""

GPU_PEAKS = {
    "A100": 312e12,
    "H100": 989e12,
    "H200": 989e12,
    "RTX 3090": 71e12,
    "RTX 4090": 165e12,
    "L4": 121e12,
}
"""Dense bfloat16 operations a second, from the makers' data sheets, by a part of the device's name."""


@attrs.frozen
class Speed:
    """What was measured: `tokens` a second of the steps alone and of the whole loop, and the share of each account."""

    steps: int
    training: float
    overall: float
    shares: dict[str, float]
    flops_per_token: int
    peak: float | None
    denominator: str

    @property
    def utilisation(self) -> float | None:
        """The model's operations a second as a part of the peak; None where the peak is unknown."""
        return self.training * self.flops_per_token / self.peak if self.peak else None


class _Until(Progress):
    """Asks a run to stop after so many steps."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self.reached = False
        self.stop: Callable[[int], None] = lambda _number: None

    def phase_done(self, report: PhaseReport) -> None:
        if report.step >= self._steps:
            self.reached = True
            self.stop(signal.SIGINT)


def write_scenario(folder: Path) -> Path:
    """Write a small scenario over two sources of random words, and return its file."""
    rng = np.random.default_rng(0)
    for name in ("first", "second"):
        words = ["".join(map(chr, rng.integers(97, 123, 5))) for _ in range(500)]
        lines = [" ".join(rng.choice(words, 60)) for _ in range(400)]
        (folder / f"{name}.txt").write_text("\n\n".join(lines), encoding="utf-8")
    path = folder / "bench.toml"
    path.write_text(SCENARIO.replace("FOLDER", folder.as_posix()), encoding="utf-8")
    return path


def flops_per_token(shape: ModelShape, vocabulary: int) -> int:
    """Return 6 N + 12 L d T (Chowdhery et al. 2022, appendix B), N the weights in products: layers and head."""
    weights = 12 * shape.layers * shape.width**2 + vocabulary * shape.width
    return 6 * weights + 12 * shape.layers * shape.width * shape.context


def measure(loaded: Loaded, folder: Path, steps: int, *, device: str, threads: int | None) -> Speed:
    """Train about `steps` steps in `folder` and return the speed, the first phase left out.

    Raises RunError, before the first step, when all of it would be one phase.
    """
    from andrea_core.assembly import new_run
    from andrea_core.experiment import Interrupted
    from andrea_core.runs.store import open_run

    progress = _Until(steps)
    experiment = new_run(loaded, folder, progress, device=device, threads=threads)
    progress.stop = experiment.ask_to_stop
    try:
        _refuse_one_phase(steps, experiment.director.decide(experiment.state).steps, experiment.total)
        experiment.run()
    except Interrupted as stopped:
        if not progress.reached:
            raise KeyboardInterrupt from stopped  # a signal, before there was enough to measure
    finally:
        experiment.folder.release()
    phases = open_run(folder).phases
    seconds, taken = np.asarray(phases["seconds"])[1:].sum(0), int(np.asarray(phases["steps"])[1:].sum())
    if not taken:
        raise RunError("a probe stopped the run in its first phase, which is not measured; leave the probe out")
    trainer = experiment.trainer
    tokens = taken * trainer.rows * trainer.shape.context
    accounts = dict(zip(ACCOUNTS, seconds.tolist(), strict=True))
    peak, denominator = peak_of(trainer.device.type, trainer.held.forward.bfloat16)
    shares = {name: spent / sum(accounts.values()) for name, spent in accounts.items()}
    operations = flops_per_token(trainer.shape, trainer.vocabulary)
    return Speed(
        taken, tokens / accounts["model"], tokens / sum(accounts.values()), shares, operations, peak, denominator
    )


def _refuse_one_phase(steps: int, first: int, total: int) -> None:
    """Raise RunError, naming the smallest number that is allowed, when no phase would be left to measure."""
    if total <= first:
        raise RunError(f"the run's {total} steps are a single phase, which only warms up; set run.steps to more")
    if steps <= first:
        raise RunError(
            f"--steps must be at least {first + 1}, got {steps}: the first phase, {first} steps, only warms up"
        )


def peak_of(device: str, bfloat16: bool) -> tuple[float | None, str]:
    """Return the peak in operations a second and what it is; None where nobody knows it."""
    import torch

    if device == "cpu":
        return gemm_peak(), f"float32 matrix products measured here, {torch.get_num_threads()} threads"
    name = torch.cuda.get_device_name() if device == "cuda" else device
    found = [peak for part, peak in GPU_PEAKS.items() if part in name.replace("-", " ").split() or part in name]
    if not found or not bfloat16:
        return None, f"no peak is known for {name}" + ("" if bfloat16 else " in float32")
    return found[-1], f"dense bfloat16 of {name}, data sheet"


def gemm_peak(size: int = 1024, repeats: int = 8) -> float:
    """Return the operations a second of the fastest of some float32 products of `size` x `size` matrices."""
    import torch

    left, right = torch.rand(size, size), torch.rand(size, size)
    left @ right
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        left @ right
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best
