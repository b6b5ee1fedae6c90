"""Started by torchrun: trains a tiny model on its part of each step's rows; rank 0 saves what all rows showed."""

import sys
from pathlib import Path

import attrs
import numpy as np
import torch

from andrea_core.model.launch import with_ranks
from andrea_core.model.settings import PRESETS, OptimizerSettings, SpikeSettings
from andrea_core.model.trainer import Trainer

ROWS, VOCABULARY = 4, 19
WEIGHTS = np.array([0.5, 2.0, 1.0, 3.0], np.float32)
SETTINGS = {
    "plain": {},
    "all": {"micro_rows": 1, "z_loss": 1e-3, "spike": SpikeSettings("skip", 1.0001, 4)},
}


def trained(ranks, steps, parallel, kind):
    """Train `steps` steps and return the trainer; the data depend on the step alone."""
    tokens = np.random.default_rng(7).integers(0, VOCABULARY, (steps, ROWS, 33))
    shape = attrs.evolve(PRESETS["tiny"])
    settings = OptimizerSettings(lr=3e-3, warmup=5, **SETTINGS[kind])
    options = {"vocabulary": VOCABULARY, "rows": ROWS, "total_steps": steps, "seed": 3}
    after = kind == "all"
    trainer = Trainer(shape, settings, **options, loss_after=after, ranks=ranks, parallel=parallel)
    trainer.begin(steps)
    for window in tokens:
        own = window[trainer.own]
        trainer.step(own[:, :-1], own[:, 1:], *([WEIGHTS] if after else []))
    return trainer


def main(out, steps, parallel, kind, dtype):
    torch.set_num_threads(1)
    torch.set_default_dtype(getattr(torch, dtype))

    def steps_shown(ranks):
        trainer = trained(ranks, int(steps), parallel, kind)
        shown = attrs.asdict(trainer.collect())
        model, optimiser, extra = trainer.state()
        trainer.load(model, optimiser, extra)
        again = attrs.asdict(trainer.collect())
        assert all(np.array_equal(shown[name], again[name]) for name in shown if shown[name] is not None)
        if ranks.first:
            tensors = {f"model.{name}": tensor.numpy() for name, tensor in model.items()}
            np.savez(out, **{k: v for k, v in shown.items() if v is not None}, **tensors)

    with_ranks(steps_shown)
    if parallel == "ddp":  # FSDP2 keeps the group in tables of its own
        left = [task.read_text().strip() for task in Path("/proc/self/task").glob("*/comm")]
        assert not any("gloo" in name for name in left), left


def fails(_out):
    """Rank 1 fails while rank 0 waits for it."""

    def body(ranks):
        if ranks.index == 1:
            raise ValueError("the disk is on fire")
        ranks.largest(0)

    with_ranks(body)


def disagrees(_out):
    """One rank decides otherwise."""
    with_ranks(lambda ranks: ranks.agree("phase 3", lambda: bytes([ranks.index] * 32)))


if __name__ == "__main__":
    {"main": main, "fails": fails, "disagrees": disagrees}[sys.argv[1]](*sys.argv[2:])
