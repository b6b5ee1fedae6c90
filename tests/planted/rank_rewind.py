"""Started by torchrun: ranks undo a phase, once with a checkpoint in it, and must be back at its beginning."""

import sys

import numpy as np
import torch

from andrea_core.model.launch import with_ranks
from andrea_core.model.settings import PRESETS, OptimizerSettings, SpikeSettings
from andrea_core.model.trainer import Trainer

ROWS, VOCABULARY = 4, 19


def copies(trainer):
    """Return the whole tensors of model and optimiser as arrays; all ranks take part."""
    model, kept, _ = trainer.state()
    named = [*model.items(), *((f"kept/{name}", tensor) for name, tensor in kept.items())]
    return {name: tensor.numpy().copy() for name, tensor in named if not name.startswith("kept/border")}


def main(parallel):
    torch.set_num_threads(1)
    tokens = np.random.default_rng(7).integers(0, VOCABULARY, (9, ROWS, 33))
    settings = OptimizerSettings(lr=3e-3, warmup=5, spike=SpikeSettings("rewind", 1.5, 4))

    def there_and_back(ranks):
        options = {"vocabulary": VOCABULARY, "rows": ROWS, "total_steps": 9, "seed": 3}
        trainer = Trainer(PRESETS["tiny"], settings, **options, ranks=ranks, parallel=parallel)

        def train(first, last):
            for window in tokens[first:last]:
                trainer.step(window[trainer.own][:, :-1], window[trainer.own][:, 1:])

        train(0, 3)
        trainer.clear()
        trainer.begin(6)
        border = copies(trainer)
        train(3, 6)
        trainer.load(*trainer.state())
        train(6, 9)
        there = copies(trainer)
        trainer.rewind()
        back = copies(trainer)
        assert border.keys() == back.keys()
        assert all(np.array_equal(border[name], back[name]) for name in border)
        assert not np.array_equal(border["head.weight"], there["head.weight"])
        trainer.begin(6)
        train(3, 9)
        again = copies(trainer)
        assert all(np.array_equal(there[name], again[name]) for name in there)

    with_ranks(there_and_back)


if __name__ == "__main__":
    main(*sys.argv[1:])
