"""A region as tables for the terminal: bounds with their reasons, facts, vertices."""

import math
from collections.abc import Iterator

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from andrea_core.report.region_facts import about, corners, facts, mean, number
from andrea_core.simplex import Region
from andrea_core.values import Vector

LISTED = 12
"""Most vertices that are written out."""
IMPLIED, ESTIMATED = "*", "~"


def region_parts(name: str, region: Region) -> Iterator[RenderableType]:
    """Yield what is printed of a region: its bounds, its facts, and its vertices when they are few."""
    yield Text(name, style="bold")
    yield bounds_table(region)
    yield facts_table(region)
    found = corners(region, LISTED)
    if found is not None:
        yield Text("\nvertices", style="bold")
        yield vertices_table(region, found)


def bounds_table(region: Region) -> Table:
    """Return a row a source: effective floor and cap, the reason of each, centre and mean of the region.

    A star marks a bound that is tighter than the stated one because the others imply it, a tilde a mean from draws.
    """
    reach = region.effective
    tightened = (reach.lower != region.stated.lower) | (reach.upper != region.stated.upper)
    averages = mean(region)
    notes = [f"{IMPLIED} tightened: the other bounds leave no more"] if tightened.any() else []
    if averages is not None and averages.approximate:
        notes.append(f"{ESTIMATED} mean: {about(averages)}")
    table = _table("; ".join(notes) or None)
    for column in ("source", "floor", "cap"):
        table.add_column(column, justify="left" if column == "source" else "right", no_wrap=True)
    table.add_column("floor because of", overflow="fold")
    table.add_column("cap because of", overflow="fold")
    table.add_column("centre", justify="right", no_wrap=True)
    mark = ESTIMATED if averages is not None and averages.approximate else ""
    table.add_column(f"mean{mark}", justify="right", no_wrap=True)
    for i, source in enumerate(region.names):
        row = [
            source,
            _bound(reach.lower[i], region.stated.lower[i]),
            _bound(reach.upper[i], region.stated.upper[i]),
            _reason(reach.lower_reasons[i]),
            _reason(reach.upper_reasons[i]),
            number(region.centre[i]),
            "" if averages is None else number(averages.value[i]),
        ]
        table.add_row(*(Text(cell) for cell in row), style="dim" if region.upper[i] == 0 else None)
    _add_groups(table, region)
    return table


def facts_table(region: Region) -> Table:
    """Return the facts of a region, one a row."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in facts(region):
        table.add_row(Text(label), Text(text))
    return table


def vertices_table(region: Region, found: Vector) -> Table:
    """Return the vertices (V, K), one a row, with a column for each source that is not 0 in all of them."""
    table = _table(None)
    shown = np.flatnonzero(found.any(axis=0))
    for i in shown:
        table.add_column(Text(region.names[i]), justify="right")
    for vertex in found:
        table.add_row(*(number(vertex[i]) for i in shown))
    return table


def _table(caption: str | None) -> Table:
    return Table(
        caption=caption,
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )


def _add_groups(table: Table, region: Region) -> None:
    stated = region.stated
    if stated.groups or stated.rows:
        table.add_section()
    for group in stated.groups:
        least, most = number(group.at_least), number(group.at_most)
        cells = (stated.label(group.members), least, most, group.least_reason, group.most_reason)
        table.add_row(*(Text(cell) for cell in cells))
    for row in stated.rows:
        sides = [number(side * row.scale) if math.isfinite(side) else "" for side in (row.at_least, row.at_most)]
        why = [row.reason if side else "" for side in sides]
        table.add_row(*(Text(cell) for cell in (row.label(stated.names), *sides, *why)))


def _bound(effective: float, stated: float) -> str:
    return number(effective) + (IMPLIED if effective != stated else "")


def _reason(reason: str) -> str:
    return reason.removeprefix("implied by ")
