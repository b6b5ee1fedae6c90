"""The trainer undoes a phase: to the bits of its beginning, also when a checkpoint lies between."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from andrea_core.model.settings import SpikeSettings
from andrea_core.model.trainer import Trainer

Make = Callable[..., Trainer]
Batches = list[tuple[np.ndarray, np.ndarray]]
BACK = SpikeSettings(action="rewind", factor=1.5, window=4, rewinds=2)


def bits(trainer: Trainer) -> dict[str, Any]:
    """All of a trainer's state as bytes, the count of rewinds apart."""
    model, kept, extra = trainer.state()
    tensors = {
        f"{part}/{name}": t.numpy().tobytes() for part, d in (("m", model), ("k", kept)) for name, t in d.items()
    }
    values = {**extra, **{f"border/{name}": value for name, value in extra.get("border", {}).items()}}
    return tensors | {n: np.array(value).tobytes() for n, value in values.items() if n not in ("rewinds", "border")}


@pytest.mark.parametrize("use", ["adamw", "muon", "sgd"])
@pytest.mark.parametrize("border", [0, 7])
def test_a_rewind_leads_to_the_bits_of_the_border(make_trainer: Make, batches: Batches, use: str, border: int) -> None:
    trainer = make_trainer(use=use, dropout=0.2, spike=BACK)
    for batch in batches[:border]:
        trainer.step(*batch)
    trainer.clear()
    trainer.begin(6)
    before = bits(trainer)
    for batch in batches[border : border + 6]:
        trainer.step(*batch)
    shown = trainer.collect().row_loss.tobytes()
    assert bits(trainer) != before
    trainer.rewind()
    assert bits(trainer) == before
    assert (trainer.steps_done, trainer.phase_steps, trainer.rewinds) == (border, 0, 1)
    for batch in batches[border : border + 6]:
        trainer.step(*batch)

    assert trainer.collect().row_loss.tobytes() == shown


@pytest.mark.parametrize("use", ["adamw", "muon", "sgd"])
def test_a_checkpoint_inside_a_phase_holds_its_beginning(make_trainer: Make, batches: Batches, use: str) -> None:
    trainer, fresh = make_trainer(use=use, spike=BACK), make_trainer(use=use, spike=BACK, seed=8)
    for batch in batches[:5]:
        trainer.step(*batch)
    trainer.clear()
    trainer.begin(6)
    before = bits(trainer)
    for batch in batches[5:8]:
        trainer.step(*batch)
    fresh.load(*trainer.state())
    assert bits(fresh) == bits(trainer)
    for one in (trainer, fresh):
        one.step(*batches[8])
        one.rewind()

    assert bits(fresh) == bits(trainer) == before


def test_rewinds_are_counted_in_a_row_and_a_checkpoint_keeps_the_count(make_trainer: Make, batches: Batches) -> None:
    trainer, fresh = make_trainer(spike=BACK), make_trainer(spike=BACK)
    allowed = []
    for _ in range(3):
        trainer.begin(2)
        trainer.step(*batches[0])
        allowed.append(trainer.may_rewind)
        fresh.load(*trainer.state())
        allowed.append(fresh.may_rewind)
        trainer.rewind()
    trainer.clear()
    trainer.begin(2)

    assert allowed == [True, True, True, True, False, False]
    assert trainer.may_rewind


def test_without_the_setting_nothing_is_kept(make_trainer: Make, batches: Batches) -> None:
    for action in ("off", "skip"):
        trainer = make_trainer(spike=SpikeSettings(action=action))
        trainer.begin(2)
        trainer.step(*batches[0])

        assert not trainer.may_rewind
        assert not any(name.startswith("border") for name in trainer.state()[1])
        with pytest.raises(ValueError, match="no phase has begun"):
            trainer.rewind()


def test_the_border_does_not_follow_the_weights(make_trainer: Make, batches: Batches) -> None:
    trainer = make_trainer(spike=BACK)
    trainer.begin(3)
    start = trainer.model.head.weight.detach().clone()
    for batch in batches[:3]:
        trainer.step(*batch)
    assert not torch.equal(trainer.model.head.weight, start)
    trainer.rewind()

    assert torch.equal(trainer.model.head.weight, start)


@pytest.mark.parametrize("parallel", ["ddp", pytest.param("fsdp", marks=pytest.mark.slow)])
def test_two_ranks_go_back_together(parallel: str) -> None:
    program = Path(__file__).parents[1] / "planted" / "rank_rewind.py"
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*launcher, str(program), parallel], capture_output=True, text=True, check=False, timeout=120)

    assert done.returncode == 0, done.stderr
