"""Thinning keeps what a reader would miss: extremes, means, first and last; and stages are read from plan or record."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from andrea_core.report.timeline import (
    Span,
    binned,
    drawn_stages,
    envelope,
    every,
    planned_stages,
    running_mean,
    seen_stages,
)
from andrea_core.runs.store import Run, open_run


def test_every_keeps_first_and_last_and_no_more_than_asked() -> None:
    kept = every(1000, 7)
    assert (len(kept), kept[0], kept[-1]) == (7, 0, 999)
    assert list(every(3, 10)) == [0, 1, 2]
    assert len(every(0, 10)) == 0


def test_an_envelope_keeps_a_single_spike_and_a_single_dip() -> None:
    values = np.random.default_rng(0).normal(size=50_000)
    values[31_234], values[7] = 99, -99
    kept = envelope(values, 400)
    assert {31_234, 7} <= set(kept.tolist())
    assert len(kept) <= 400


def test_an_envelope_takes_values_that_are_all_missing() -> None:
    assert len(envelope(np.full(1000, np.nan), 100)) <= 100


def test_bins_average_by_length_and_keep_the_total() -> None:
    rng = np.random.default_rng(1)
    weights, lengths = rng.dirichlet(np.ones(3), 100), rng.integers(7, 43, 100).astype(float)
    means, first = binned(weights, lengths, 9)
    bins = np.add.reduceat(lengths, first)
    assert (means * bins[:, None]).sum(axis=0) == pytest.approx((weights * lengths[:, None]).sum(axis=0))
    assert means.sum(axis=1) == pytest.approx(np.ones(9))
    assert binned(weights, lengths, 200)[0] == pytest.approx(weights)


def test_a_running_mean_looks_back_and_skips_what_is_missing() -> None:
    values = np.array([1.0, 3.0, np.nan, 5.0, 7.0])
    assert running_mean(values, 2) == pytest.approx([1, 2, 3, 5, 6])
    assert running_mean(values, 50)[-1] == pytest.approx(4)


def test_planned_stages_come_from_the_plan_and_seen_ones_from_the_phases(run_of: Callable[[str], Run]) -> None:
    killed = run_of("killed")
    assert planned_stages(killed) == [Span("warmup", 0, 60), Span("firehose", 60, 337), Span("polish", 337, 600)]
    assert [span.name for span in seen_stages(killed)] == ["warmup", "firehose"]
    assert drawn_stages(killed) == [Span("warmup", 0, 60), Span("firehose", 60, 250)]


def test_a_stage_that_comes_again_is_a_new_stretch(tmp_path: Path, synthetic: ModuleType) -> None:
    phases = synthetic.empty_run(tmp_path / "run", ["a", "b"]).create_group("phases")
    stage = np.array([0, 1, 1, 0], np.int32)
    synthetic.put(phases, {"start": np.array([0, 5, 9, 12]), "steps": np.array([5, 4, 3, 8]), "stage": stage})
    phases["stage"].attrs["names"] = ["calm", "storm"]
    run = open_run(tmp_path / "run")
    assert planned_stages(run) == [Span("calm", 0, 5), Span("storm", 5, 12), Span("calm", 12, 20)]
