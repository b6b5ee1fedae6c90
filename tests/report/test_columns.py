"""Tables for the terminal fit its width, carry no blanks at the ends of lines, and lose nothing in a narrow one."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from andrea_core.report.columns import Column, TextTable
from andrea_core.report.terminal import SHARES, summary_table
from andrea_core.runs.store import Run, open_run


def printed(table: TextTable, width: int) -> list[str]:
    out = StringIO()
    Console(file=out, width=width).print(table)
    return out.getvalue().splitlines()


def test_landed_stands_between_requested_and_drawn_with_the_mean_landed_weight(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    lines = printed(summary_table(run), 80)
    head = next(line for line in lines if line.startswith("source")).split()
    assert tuple(head[1:5]) == SHARES == ("requested", "landed", "drawn", "trained")
    steps = run.phases["steps"]
    landed = (run.phases["weights"] * steps[:, None]).sum(axis=0) / steps.sum()
    row = next(line for line in lines if line.startswith("chat ")).split()
    assert row[2] == f"{100 * landed[3]:.1f}"


@pytest.mark.parametrize("width", [80, 100])
def test_sixteen_sources_and_three_stages_fit_eighty_columns_in_one_block(
    width: int, run_of: Callable[[str], Run]
) -> None:
    lines = printed(summary_table(run_of("full")), width)
    assert max(map(len, lines)) <= width
    assert sum(line.startswith("chat ") for line in lines) == 1
    assert "end" in next(line for line in lines if line.startswith("source"))


@pytest.mark.parametrize("width", [46, 60, 80, 140])
def test_no_line_ends_in_blanks_and_the_note_stays_on_one_line(
    width: int, shape: str, run_of: Callable[[str], Run]
) -> None:
    lines = printed(summary_table(run_of(shape)), width)
    assert [line for line in lines if line != line.rstrip()] == []
    assert lines[-1].startswith("Shares in %")
    assert lines[-1].endswith(".")


def test_the_note_speaks_of_held_out_loss_only_when_there_is_some(run_of: Callable[[str], Run]) -> None:
    assert printed(summary_table(run_of("empty")), 80)[-1] == "Shares in %."
    assert printed(summary_table(run_of("full")), 80)[-1] == "Shares in %, held-out loss in bits per byte."


def test_a_narrow_terminal_gets_further_blocks_with_every_column(run_of: Callable[[str], Run]) -> None:
    wide, narrow = (printed(summary_table(run_of("full")), width) for width in (200, 50))
    cells = [[c for line in lines if line.startswith("chat ") for c in line.split()[1:]] for lines in (wide, narrow)]
    assert cells[0] == cells[1]
    assert max(map(len, narrow)) <= 50


def test_headings_of_two_words_take_two_lines_and_numbers_stand_at_the_right() -> None:
    table = TextTable(Column("source", ["a", "mean"]), [Column("after dawn", ["1.5", "20.25"])], "note", total=True)
    assert printed(table, 40) == [
        *("        after", "source   dawn", "─────────────", "a         1.5", "─────────────", "mean    20.25"),
        *("", "note"),
    ]


def test_wide_letters_and_long_names_keep_the_columns_aligned(tmp_path: Path, synthetic: ModuleType) -> None:
    store: Any = synthetic.empty_run(tmp_path / "run", ["日本語", "x" * 90])
    rows = {"start": np.array([0]), "steps": np.array([4]), "weights": np.array([[0.25, 0.75]])}
    synthetic.put(store.create_group("phases"), rows)
    lines = printed(summary_table(open_run(tmp_path / "run")), 80)
    assert next(line for line in lines if line.startswith("日本語")).split() == ["日本語", "-", "25.0", "-", "-"]
    cut = next(line for line in lines if line.startswith("xxx"))
    assert cut.split()[1:] == ["-", "75.0", "-", "-"]
    assert "…" in cut
