"""Seconds of a training step, ours against a tuned plain loop and litgpt, taken in turns; what of ours is not model.

Run `python benchmarks trainer [ROUNDS]`: one thread, CPU time, medians. Ours is a whole run's phase, with curriculum,
policy, reward, batches, losses by row and the record; theirs is the bare step on a batch that lies ready.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from trainer_peers import peers

from andrea_core.assembly import new_run
from andrea_core.bench import write_scenario
from andrea_core.experiment import Experiment
from andrea_core.model.settings import PRESETS, ModelShape
from andrea_core.progress import Progress
from andrea_core.scenario import load

SIZES = {
    "0.8M": (PRESETS["laptop"], 16, 5),
    "10M": (ModelShape(layers=6, heads=6, width=384, context=256), 4, 2),
}
"""The shape, rows of a batch, and steps of a turn."""

BAR = 1.0
"""Per cent of a step that may be neither forward, backward nor optimiser, at 0.8M parameters."""


STALL = 20.0
"""Milliseconds for which a checkpoint may make the loop wait, at 0.8M parameters."""


class Inside:
    """Adds up the seconds spent in the calls that it wraps."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call that is timed."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            try:
                return call(*args, **kwargs)
            finally:
                self.seconds += time.process_time() - start

        return timed


def ours(folder: Path, shape: ModelShape, rows: int, steps: int) -> Experiment:
    """Return a run whose phases are `steps` long."""
    os.environ["ANDREA_CACHE"] = str(folder / "cache")
    sizes = ", ".join(f"{name} = {getattr(shape, name)}" for name in ("layers", "heads", "width", "context"))
    settings = [f"model={{ {sizes} }}", f"sampler.rows={rows}", f"phases={{ use = 'fixed', steps = {steps} }}"]
    loaded = load(write_scenario(folder), settings=settings)
    return new_run(loaded, folder / "run", Progress(), device="cpu", threads=1)


def compare(name: str, rounds: int) -> bool:
    """Take turns and print the medians; return whether both bars hold."""
    shape, rows, steps = SIZES[name]
    print(f"{name:>5}  {rounds} rounds of {steps} steps of {rows} rows", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        experiment = ours(Path(folder), shape, rows, steps)
        vocabulary = experiment.trainer.vocabulary
        batch = np.random.default_rng(0).integers(0, vocabulary, (rows, shape.context + 1))
        inputs, targets = torch.from_numpy(batch[:, :-1].copy()), torch.from_numpy(batch[:, 1:].copy())
        turns: dict[str, Callable[[], Any]] = {"ours": experiment._phase}
        for peer, step in peers(shape, vocabulary).items():
            turns[peer] = lambda step=step: [step(inputs, targets) for _ in range(steps)]
        inside = _watched(experiment)
        taken: dict[str, list[float]] = {peer: [] for peer in turns}
        rest = []
        for _ in range(rounds):
            for peer, turn in turns.items():
                inside.seconds, start = 0.0, time.process_time()
                turn()
                taken[peer].append((time.process_time() - start) / steps)
                if peer == "ours":
                    rest.append(100 * (1 - inside.seconds / (steps * taken[peer][-1])))
        waited = [_waited(experiment) for _ in range(9)]
        experiment.folder.release()
    print(
        f"{name:>5}  a checkpoint: {statistics.median(waited):.2f} ms (most {max(waited):.2f}) of waiting", flush=True
    )
    stalls = name == "0.8M" and statistics.median(waited) >= STALL
    return _printed(name, taken, rest, rows * shape.context) and not stalls


def _waited(experiment: Experiment) -> float:
    """Return for how many milliseconds of wall time a checkpoint after a phase made the loop wait."""
    experiment._phase()
    start = time.perf_counter()
    experiment._save()
    waited = time.perf_counter() - start
    experiment.saver.writer.wait()
    return 1e3 * waited


def _watched(experiment: Experiment) -> Inside:
    inside, trainer = Inside(), experiment.trainer
    trainer.held.forward = inside.timed(trainer.held.forward)
    torch.Tensor.backward = inside.timed(torch.Tensor.backward)  # type: ignore[method-assign]
    trainer._clip = inside.timed(trainer._clip)  # type: ignore[method-assign]
    for name in ("step", "zero_grad"):
        setattr(trainer.optimizer, name, inside.timed(getattr(trainer.optimizer, name)))
    return inside


def _printed(name: str, taken: dict[str, list[float]], rest: list[float], tokens: int) -> bool:
    medians = {peer: statistics.median(seconds[1:]) for peer, seconds in taken.items()}
    for peer, seconds in sorted(medians.items(), key=lambda item: item[1]):
        line = f"{name:>5}  {peer:30} {1e3 * seconds:8.2f} ms a step {tokens / seconds:10,.0f} tokens/s"
        print(line, flush=True)
    fastest = min(seconds for peer, seconds in medians.items() if peer != "ours")
    paired = [min(taken[p][i] for p in taken if p != "ours") / taken["ours"][i] for i in range(1, len(rest))]
    outside = statistics.median(rest[1:])
    print(
        f"{name:>5}  ours / fastest: {fastest / medians['ours']:.3f} of medians, {statistics.median(paired):.3f} paired"
    )
    print(
        f"{name:>5}  neither forward, backward nor optimiser: {outside:.2f} % of a step (bar {BAR} % at 0.8M)",
        flush=True,
    )
    return fastest >= medians["ours"] and (name != "0.8M" or outside < BAR)


def main() -> int:
    """Compare both sizes; return 1 when a bar is missed."""
    torch.set_num_threads(1)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    if "litgpt, fused" not in peers(PRESETS["tiny"], 9):
        print("litgpt is not installed here: it is left out")
    held = [compare(name, rounds) for name in SIZES]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
