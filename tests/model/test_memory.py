"""The memory of training: predicted, refused when it will not fit, and measured."""

import subprocess
import sys
from typing import Any

import attrs
import pytest

from andrea_core.errors import RunError
from andrea_core.model.border import Border
from andrea_core.model.gpt import LOGITS_AT_ONCE, build_model
from andrea_core.model.memory import AT_ONCE, free_memory, predicted, refuse_unfit
from andrea_core.model.optimiser import build_optimiser, moments
from andrea_core.model.settings import PRESETS, ModelShape, OptimizerSettings, SpikeSettings

GPT2 = attrs.evolve(PRESETS["tiny"], bias=True, tied_head=True, pad_vocabulary=64)

MEASURE = """
import resource, sys
import numpy as np, torch
from andrea_core.model.memory import predicted
from andrea_core.model.settings import PRESETS, ModelShape, OptimizerSettings, SpikeSettings
from andrea_core.model.trainer import Trainer
from andrea_core.saving import Saver

def save(saver, model, kept, _):
    saver._copied("model", model), saver._copied("optimizer", kept)

def trained(preset, vocabulary, rows, spike):
    shape = PRESETS.get(preset) or ModelShape(layers=4, heads=4, width=256, context=64)
    optimizer = OptimizerSettings(spike=SpikeSettings(action=spike))
    trainer = Trainer(shape, optimizer, vocabulary=vocabulary, rows=rows, total_steps=9, seed=0)
    tokens = np.random.default_rng(0).integers(0, vocabulary, (rows, shape.context))
    losses, copied = [], spike == "rewind"
    saver = Saver(None, None, None, None)
    for _ in range(3 if copied else 1):  # a phase begins with what the optimiser keeps, a save falls inside it
        trainer.begin(2)
        trainer.step(tokens, tokens)
        if copied:
            save(saver, *trainer.state())
        trainer.step(tokens, tokens)
        losses += trainer.collect().loss.tolist()
        trainer.clear()
    return losses, predicted(shape, optimizer, vocabulary, rows, copies=copied).total

torch.set_num_threads(1)
trained("tiny", 257, 2, "off")
before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
losses, wanted = trained(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
status = open("/proc/self/status").read()  # ru_maxrss would begin with what the process that forked this one had
peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024
print(wanted / (peak - before), losses[0], losses[-1])
"""


@pytest.mark.parametrize("use", ["adamw", "muon", "sgd"])
@pytest.mark.parametrize("shape", [PRESETS["tiny"], GPT2], ids=["andrea", "gpt2"])
def test_weights_and_what_the_optimiser_keeps_are_counted_exactly(shape: ModelShape, use: str) -> None:
    settings = OptimizerSettings(use=use)
    model = build_model(shape, 257, 0)
    model.token_losses(*[model.positions.weight.new_zeros(1, 8).long()] * 2).mean().backward()
    optimiser = build_optimiser(model, settings)
    optimiser.step()
    memory = predicted(shape, settings, 257, 4)

    assert memory.weights == memory.gradients == sum(4 * p.numel() for p in model.parameters())
    assert memory.optimiser == sum(4 * t.numel() for t in moments(model, optimiser).values() if t.numel() > 1)


def test_more_logits_than_are_made_at_once_take_no_more() -> None:
    assert AT_ONCE == LOGITS_AT_ONCE
    few, many = (predicted(PRESETS["andrea-12m"], OptimizerSettings(), 50_304, rows).logits for rows in (8, 64))

    assert few == many == 3 * 4 * AT_ONCE


def test_rows_taken_in_parts_need_the_memory_of_a_part() -> None:
    shape = PRESETS["laptop"]
    parts = predicted(shape, OptimizerSettings(micro_rows=4), 257, 64)

    assert parts == predicted(shape, OptimizerSettings(), 257, 4)
    assert predicted(shape, OptimizerSettings(micro_rows=4), 257, 2) == predicted(shape, OptimizerSettings(), 257, 2)


def test_a_run_that_will_not_fit_is_refused_with_the_numbers() -> None:
    memory = predicted(PRESETS["andrea-120m"], OptimizerSettings(), 8449, 64)

    refuse_unfit(memory, None, "this machine")
    refuse_unfit(memory, 2 * memory.total, "this machine")
    with pytest.raises(RunError, match=r"about \d+\.\d GiB \(weights .*\), and this machine has 4.0 GiB free; choose"):
        refuse_unfit(memory, 2**32, "this machine")


def test_the_machine_has_some_memory_free() -> None:
    free = free_memory()

    assert free is None or 2**20 < free < 2**50


@pytest.mark.parametrize("use", ["adamw", "muon", "sgd"])
def test_what_a_rewind_goes_back_to_is_counted_once_beside_the_model_and_once_in_a_checkpoint(use: str) -> None:
    shape = PRESETS["laptop"]
    plain, back = (
        predicted(shape, OptimizerSettings(use=use, spike=SpikeSettings(action=action)), 257, 8, copies=True)
        for action in ("skip", "rewind")
    )

    assert plain.rewind == 0
    assert back.rewind == back.weights + back.optimiser
    assert back.copies == 2 * plain.copies == 2 * back.rewind
    with pytest.raises(RunError, match=r"rewind \d.*; optimizer.spike.action = \"skip\" keeps no copy to rewind to"):
        refuse_unfit(back, 2**20, "this machine")


def test_two_beginnings_of_a_phase_are_never_kept_at_a_time(make_trainer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, kept = make_trainer(spike=SpikeSettings(action="rewind")), []
    of = Border.of
    monkeypatch.setattr(Border, "of", lambda *given: (kept.append(trainer._border), of(*given))[1])
    trainer.begin(2)
    trainer.begin(2)

    assert kept == [None, None]


@pytest.mark.skipif(sys.platform != "linux", reason="reads the kernel's account of this process")
@pytest.mark.parametrize(
    ("preset", "vocabulary", "rows", "spike"),
    [
        ("laptop", 2049, 16, "off"),
        ("wide", 2049, 1, "rewind"),
        pytest.param("andrea-12m", 2305, 2, "off", marks=pytest.mark.slow),
        pytest.param("andrea-12m", 2305, 1, "rewind", marks=pytest.mark.slow),
        pytest.param("andrea-120m", 8449, 1, "off", marks=pytest.mark.slow),
    ],
)
def test_a_measured_step_takes_what_was_predicted(preset: str, vocabulary: int, rows: int, spike: str) -> None:
    command = [sys.executable, "-c", MEASURE, preset, str(vocabulary), str(rows), spike]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    ratio, first, second = map(float, done.stdout.split())

    assert 0.85 < ratio < 1.15
    assert second < first
