"""The summary of a run as a table for the terminal."""

import math

from rich.cells import cell_len, set_cell_size

from andrea_core.report.columns import Column, TextTable
from andrea_core.report.summary import mean_bits, summary_rows
from andrea_core.runs.store import Run

MISSING = "-"
NAME = 32  # cells of the terminal that a source's name may take
SHARES = ("requested", "landed", "drawn", "trained")


def summary_table(run: Run) -> TextTable:
    """Return a row a source: requested, landed, drawn and trained share in per cent, held-out bits per byte.

    Only what was measured has a column.
    """
    rows = summary_rows(run)
    means = {label: mean for label, mean in mean_bits(rows).items() if math.isfinite(mean)}
    total = len(rows) > 1 and bool(means)
    names = Column("source", [*(_short(row.source) for row in rows), *(["mean"] if total else [])])
    blank = [""] if total else []
    shares = [Column(name, [*(percent(getattr(row, name)) for row in rows), *blank]) for name in SHARES]
    bits = [
        Column(label, [*(number(row.bits[label]) for row in rows), *([number(mean)] if total else [])])
        for label, mean in means.items()
    ]
    note = "Shares in %, held-out loss in bits per byte." if means else "Shares in %."
    return TextTable(names, [*shares, *bits], note, total)


def _short(name: str) -> str:
    return name if cell_len(name) <= NAME else set_cell_size(name, NAME - 1) + "…"


def number(value: float, digits: int = 3) -> str:
    """Return a number with that many decimals, a dash when there is none."""
    return f"{value:.{digits}f}" if math.isfinite(value) else MISSING


def percent(share: float) -> str:
    """Return a share in per cent with one decimal; exactly nothing is "0", so that an exclusion is seen."""
    return "0" if share == 0 else number(100 * share, 1)
