"""The summary of a run as a table for the terminal."""

import math

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from andrea_core.report.summary import SummaryRow, mean_bits, summary_rows
from andrea_core.runs.store import Run

MISSING = "-"


def summary_table(run: Run) -> Table:
    """Return a row a source: requested, drawn and trained share in per cent, held-out bits per byte over the run.

    Stages whose end was not reached have no column.
    """
    rows = summary_rows(run)
    means = {label: mean for label, mean in mean_bits(rows).items() if math.isfinite(mean)}
    caption = "Shares in %, held-out loss in bits per byte."
    table = Table(caption=caption, caption_justify="left", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("source", no_wrap=True)
    for name in ("requested", "drawn", "trained", *means):
        table.add_column(Text(name), justify="right")
    for row in rows:
        table.add_row(Text(row.source), *_shares(row), *(number(row.bits[label]) for label in means))
    if len(rows) > 1 and means:
        table.add_section()
        table.add_row("mean", "", "", "", *map(number, means.values()), style="bold")
    return table


def number(value: float, digits: int = 3) -> str:
    """Return a number with that many decimals, a dash when there is none."""
    return f"{value:.{digits}f}" if math.isfinite(value) else MISSING


def percent(share: float) -> str:
    """Return a share in per cent with one decimal; exactly nothing is "0", so that an exclusion is seen."""
    return "0" if share == 0 else number(100 * share, 1)


def _shares(row: SummaryRow) -> tuple[str, str, str]:
    return percent(row.requested), percent(row.drawn), percent(row.trained)
