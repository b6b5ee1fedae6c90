"""The summary's numbers equal a hand computation, and the terminal's table shows them."""

from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from andrea_core.report.header import summary_html
from andrea_core.report.summary import mean_bits, share, summary_rows
from andrea_core.report.terminal import summary_table
from andrea_core.runs.store import Run, open_run

STAGES = [{"name": "early", "start": 0, "until": 4}, {"name": "late", "start": 4, "until": 10}]


@pytest.fixture
def small(tmp_path: Path, synthetic: ModuleType) -> Run:
    """Two sources, phases of 4, 2 and 4 steps."""
    store = synthetic.empty_run(tmp_path / "run", ["a", "b"])
    store.attrs.update({"stages": STAGES, "total_steps": 10, "order0": [4.0, 5.0]})
    phases = store.create_group("phases")
    rows: Mapping[str, Any] = {
        "start": np.array([0, 4, 6]), "steps": np.array([4, 2, 4]), "stage": np.array([0, 1, 1], np.int32),
        "requested": np.array([[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]]),
        "weights": np.array([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]),
        "drawn": np.array([[12, 4], [4, 4], [4, 12]]), "trained": np.array([[100, 20], [30, 50], [20, 180]]),
        "epochs": np.array([[1.0, 0.1], [1.3, 0.3], [1.5, 1.25]]),
    }  # fmt: skip
    synthetic.put(phases, rows)
    phases["stage"].attrs["names"] = ["early", "late"]
    bits = np.array([[8.0, 6.0], [5.0, 5.5], [4.0, 5.0], [3.0, 4.0]])
    synthetic.put(store.create_group("eval"), {"step": np.array([0, 4, 7, 10]), "bits_per_byte": bits})
    return open_run(tmp_path / "run")


def test_shares_average_weights_over_steps_and_count_rows_and_tokens(small: Run) -> None:
    first = summary_rows(small)[0]
    assert first.requested == pytest.approx((4 * 1.0 + 2 * 0.5 + 4 * 0.25) / 10)
    assert first.landed == pytest.approx((4 * 0.75 + 2 * 0.5 + 4 * 0.25) / 10)
    assert first.drawn == pytest.approx(20 / 40)
    assert first.trained == pytest.approx(150 / 400)
    assert (first.epochs, first.order0) == (1.5, 4.0)


def test_shares_of_one_stage_count_its_phases_alone(small: Run) -> None:
    assert share(small, "trained", "late") == pytest.approx([50 / 280, 230 / 280])
    assert share(small, "weights", "early") == pytest.approx([0.75, 0.25])


def test_bits_stand_at_the_start_each_stage_end_and_the_end_once(small: Run) -> None:
    rows = summary_rows(small)
    assert dict(rows[0].bits) == {"start": 8.0, "after early": 5.0, "end": 3.0}
    assert dict(rows[1].bits) == {"start": 6.0, "after early": 5.5, "end": 4.0}
    assert mean_bits(rows) == {"start": 7.0, "after early": 5.25, "end": 3.5}


def measured(tmp_path: Path, synthetic: ModuleType, at: list[int], until: int = 10) -> list[str]:
    """Return the columns of a run of 10 steps, stage border at 4, that came to `until` and was measured at steps."""
    folder = tmp_path / f"run-{until}-{at}"
    store = synthetic.empty_run(folder, ["a"])
    store.attrs.update({"stages": STAGES, "total_steps": 10})
    if until:
        synthetic.put(store.create_group("steps"), {"tokens": np.full(until, 8)})
    bits = np.arange(8.0, 8.0 - len(at), -1)[:, None]
    synthetic.put(store.create_group("eval"), {"step": np.array(at), "bits_per_byte": bits})
    return list(summary_rows(open_run(folder))[0].bits)


@pytest.mark.parametrize(
    ("at", "until", "columns"),
    [
        ([0, 4, 10], 10, ["start", "after early", "end"]),
        ([0, 4], 7, ["start", "after early"]),  # interrupted after a border: the border is no end
        ([0, 4, 7], 7, ["start", "after early", "end"]),  # a probe stopped the run, and the last step was measured
        ([0, 4, 6], 7, ["start", "after early", "step 6"]),
        ([0, 2], 3, ["start", "step 2"]),
        ([0, 4], 4, ["start", "end"]),  # a stage that ends with the run has one column
        ([4, 10], 10, ["after early", "end"]),  # nothing was measured at the start
        ([0], 5, ["start"]),
        ([0], 0, ["start"]),
        ([0, 3, 4, 8, 10], 10, ["start", "after early", "end"]),
    ],
)
def test_columns_are_named_for_the_step_that_was_measured(
    at: list[int], until: int, columns: list[str], tmp_path: Path, synthetic: ModuleType
) -> None:
    assert measured(tmp_path, synthetic, at, until) == columns


def test_a_stage_that_was_not_reached_has_no_column(run_of: Callable[[str], Run]) -> None:
    bits = summary_rows(run_of("killed"))[0].bits
    assert list(bits) == ["start", "after warmup", "step 240"]
    assert np.isfinite(list(bits.values())).all()


def test_shares_sum_to_one_and_an_excluded_source_has_exactly_none(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    for name in ("requested", "weights", "drawn", "trained"):
        assert share(run, name).sum() == pytest.approx(1)
        shut = [run.sources.index(source) for source in ("repo-docs", "repo-docstrings")]
        assert (share(run, name, "polish")[shut] == 0).all()


def test_a_run_without_steps_has_a_row_a_source_and_no_numbers(run_of: Callable[[str], Run]) -> None:
    rows = summary_rows(run_of("empty"))
    assert len(rows) == 16
    assert all(np.isnan([row.requested, row.landed, row.drawn, row.trained, row.epochs]).all() for row in rows)
    assert all(row.bits == {} for row in rows)


def test_the_terminal_shows_per_cent_bits_and_their_mean(small: Run) -> None:
    out = StringIO()
    Console(file=out, width=120).print(summary_table(small))
    rows = [line.split() for line in out.getvalue().splitlines()]
    assert ["a", "60.0", "50.0", "50.0", "37.5", "8.000", "5.000", "3.000"] in rows
    assert ["mean", "7.000", "5.250", "3.500"] in rows


def test_the_terminal_table_survives_every_shape_of_run(shape: str, run_of: Callable[[str], Run]) -> None:
    run, out = run_of(shape), StringIO()
    Console(file=out, width=140).print(summary_table(run))
    assert all(source in out.getvalue() for source in run.sources)


def test_the_table_of_sixteen_sources_fits_a_terminal_of_eighty_columns(run_of: Callable[[str], Run]) -> None:
    out = StringIO()
    for shape in ("full", "killed"):
        Console(file=out, width=80).print(summary_table(run_of(shape)))
    assert "…" not in out.getvalue()
    assert {"requested", "drawn", "trained", "start", "end"} <= set(out.getvalue().split())


def test_the_terminal_takes_brackets_in_names_literally(tmp_path: Path, synthetic: ModuleType) -> None:
    synthetic.empty_run(tmp_path / "run", ["[red]a[/red]", "[/b]"])
    out = StringIO()
    Console(file=out, width=120).print(summary_table(open_run(tmp_path / "run")))
    assert "[red]a[/red]" in out.getvalue()


def test_the_page_and_the_terminal_take_their_numbers_from_the_same_rows(small: Run) -> None:
    table = summary_html(small)
    for cell in ("60.0", "50.0", "37.5", "1.50", "8.000", "5.250"):
        assert f">{cell}</td>" in table
