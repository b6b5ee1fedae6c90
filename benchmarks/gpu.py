"""Tokens a second and model FLOP utilisation of a 124M model on one CUDA GPU, and a resume to the same bits there.

Run `python benchmarks gpu [STEPS [ROWS]]`. Without a CUDA device it says so and does nothing. The speed is that of a
whole run's phases in bfloat16, compiled: curriculum, policy, reward, batches, losses by row and the record included.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from andrea_core.assembly import new_run, resumed_run
from andrea_core.bench import flops_per_token, peak_of, write_scenario
from andrea_core.experiment import Experiment, Interrupted
from andrea_core.progress import Progress
from andrea_core.runs.checkpoint import CheckpointFolder
from andrea_core.scenario import load

TARGET = 400_000
"""Tokens a second that an H200 should reach at least."""

MODEL = (
    "{ layers = 12, heads = 12, width = 768, context = 1024, pad_vocabulary = 50304, bias = true, tied_head = true }"
)
"""GPT-2's smallest shape, its vocabulary padded to a multiple of 128: 124 million parameters."""

PHASE = 10


class StopAt(Progress):
    """Asks a run to stop after a step, as a signal would."""

    def __init__(self, step: int | None) -> None:
        self.step = step
        self.experiment: Experiment | None = None

    def stepped(self, step: int) -> None:
        if step == self.step and self.experiment is not None:
            self.experiment.ask_to_stop(2)


def scenario(folder: Path, *settings: str) -> Any:
    """Return a scenario over two sources of random words."""
    return load(write_scenario(folder), settings=[f"phases={{ use = 'fixed', steps = {PHASE} }}", *settings])


def speed(folder: Path, steps: int, rows: int) -> bool:
    """Print tokens a second and the share of the data sheet's peak; return whether an H200's target is reached.

    The corpus has bytes for tokens, which leaves most of the head's rows unused: they cost what any cost.
    """
    loaded = scenario(folder, f"model={MODEL}", f"sampler.rows={rows}")
    experiment = new_run(loaded, folder / "run", Progress(), device="cuda", threads=None)
    for _ in range(2):  # compiles, and fills the caches
        experiment._phase()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    for _ in range(steps // PHASE):
        experiment._phase()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    trainer = experiment.trainer
    experiment.folder.release()
    tokens = steps // PHASE * PHASE * rows * trainer.shape.context / seconds
    peak, denominator = peak_of("cuda", trainer.held.forward.bfloat16)
    operations = flops_per_token(trainer.shape, trainer.model.padded)
    print(f"{trainer.shape.parameters(trainer.model.padded):,} parameters, {rows} rows of {trainer.shape.context}")
    print(f"{tokens:,.0f} tokens/s (target {TARGET:,} on an H200), {1e3 * seconds / steps:.1f} ms a step")
    print(f"MFU {tokens * operations / peak:.1%} of {denominator}" if peak else denominator)
    print(f"{torch.cuda.max_memory_allocated() / 2**30:.1f} GiB at the peak", flush=True)
    return tokens >= TARGET


def resume(folder: Path) -> bool:
    """Train a small model straight, and stopped inside a phase and resumed, under deterministic kernels; compare."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    settings = ("run.steps=40", "model.dropout=0.1", "optimizer.compile=off", "optimizer.warmup=4")
    loaded = scenario(folder, *settings)
    _train(new_run(loaded, folder / "straight", Progress(), device="cuda", threads=None), None)
    stop = StopAt(17)
    stop.experiment = new_run(loaded, folder / "cut", stop, device="cuda", threads=None)
    _train(stop.experiment, None)
    _train(*resumed_run(folder / "cut", Progress()))
    straight, cut = (CheckpointFolder(folder / name / "checkpoints").load(40) for name in ("straight", "cut"))
    pairs = [*_pairs(straight.model, cut.model), *_pairs(straight.optimizer, cut.optimizer)]
    differing = [name for name, one, other in pairs if not torch.equal(one, other)]
    print(
        f"resume at step 17 of 40: {len(pairs) - len(differing)} of {len(pairs)} tensors are bit-identical", flush=True
    )
    return not differing


def _train(experiment: Experiment, step: int | None) -> None:
    try:
        experiment.run(step)
    except Interrupted:
        pass
    finally:
        experiment.folder.release()


def _pairs(one: Any, other: Any) -> list[tuple[str, Any, Any]]:
    return [(name, tensor, other[name]) for name, tensor in one.items()]


def main() -> int:
    """Measure; return 1 when the target is missed or a bit differs, 0 also where there is no GPU."""
    if not torch.cuda.is_available():
        print("no CUDA device here: nothing was measured")
        return 0
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    given = [int(one) for one in sys.argv[1:3]]
    steps, rows = (*given, *(100, 32)[len(given) :])
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}", flush=True)
    held = []
    for name in ("speed", "resume"):
        with tempfile.TemporaryDirectory() as place:
            os.environ["ANDREA_CACHE"] = str(Path(place) / "cache")
            held.append(speed(Path(place), steps, rows) if name == "speed" else resume(Path(place)))
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
