"""The head of the report: name, digest, versions, totals, and the summary table of all sources, as HTML."""

import math
from html import escape

import numpy as np

from andrea_core import __version__
from andrea_core.report.facts import run_facts, tokens_of
from andrea_core.report.style import source_colours
from andrea_core.report.summary import SummaryRow, mean_bits, summary_rows
from andrea_core.report.terminal import MISSING, number, percent
from andrea_core.report.timeline import last_step, planned_stages, seen_stages
from andrea_core.runs.store import Run


def header(run: Run) -> str:
    """Return the head of the page: title, facts, totals, and a line on a run that has not come to its end."""
    facts = "".join(f"<li>{escape(key)} <b>{escape(value)}</b></li>" for key, value in run_facts(run))
    facts += f"<li>page written by andrea <b>{escape(__version__)}</b></li>"
    tiles = "".join(
        f'<div class="tile"><span>{label}</span><b>{value}</b></div>' for label, value in _totals(run).items()
    )
    return (
        f'<div class="panel"><h1>{escape(run.name)}</h1><code>{escape(run.folder.name)}</code>'
        f'<ul class="facts">{facts}</ul><div class="tiles">{tiles}</div>{_banner(run)}</div>'
    )


def summary_html(run: Run) -> str:
    """Return the summary table: a row a source, and the mean of the held-out columns."""
    rows = summary_rows(run)
    labels = list(rows[0].bits)
    numeric = ["requested", "landed", "drawn", "trained", "epochs", "order-0", *labels]
    head = "<th>source</th>" + "".join(f'<th class="n">{escape(label)}</th>' for label in numeric)
    body = "".join(_row(row, colour) for row, colour in zip(rows, source_colours(len(rows)), strict=True))
    if labels and len(rows) > 1:
        means = "".join(f'<td class="n">{number(value)}</td>' for value in mean_bits(rows).values())
        body += f'<tr class="total"><td>mean over sources</td>{"<td></td>" * 6}{means}</tr>'
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _row(row: SummaryRow, colour: str) -> str:
    cells = [percent(value) for value in (row.requested, row.landed, row.drawn, row.trained)]
    cells += [number(row.epochs, 2), number(row.order0), *(number(value) for value in row.bits.values())]
    name = f'<td class="name"><span class="swatch" style="background:{colour}"></span>{escape(row.source)}</td>'
    return f"<tr>{name}{''.join(_cell(cell) for cell in cells)}</tr>"


def _cell(text: str) -> str:
    return f'<td class="n{" zero" if text in ("0", MISSING) else ""}">{text}</td>'


def _totals(run: Run) -> dict[str, str]:
    seconds = float(np.nansum(run.phases["seconds"])) if "seconds" in run.phases else math.nan
    tokens = tokens_of(run)
    return {
        "steps": f"{last_step(run):,}",
        "phases": f"{run.phases.rows:,}",
        "stages seen": f"{len(seen_stages(run))} of {len(planned_stages(run))}",
        "sources": str(len(run.sources)),
        "tokens": _grouped(tokens),
        "time": _duration(seconds),
        "tokens a second": _grouped(tokens / seconds) if seconds > 0 else MISSING,
    } | _progress(run)


def _progress(run: Run) -> dict[str, str]:
    """Return the mean held-out loss at the first and the last measured column, under their names."""
    bits = list(mean_bits(summary_rows(run)).items())
    if not bits:
        return {"bits per byte": MISSING}
    ends = bits[:1] if len(bits) == 1 else [bits[0], bits[-1]]
    label = " → ".join(escape(name) for name, _ in ends)
    return {f"bits per byte, {label}": " → ".join(number(value, 2) for _, value in ends)}


def _banner(run: Run) -> str:
    planned, done = int(run.attributes.get("total_steps") or 0), last_step(run)
    if done >= planned:
        return ""
    return (
        f'<p class="banner">This record ends at step {done:,} of {planned:,}: the run is still going on, was '
        "interrupted, or was stopped by a probe (see Events). Everything below shows what there is.</p>"
    )


def _grouped(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g} {letter}"
    return f"{value:,.0f}"


def _duration(seconds: float) -> str:
    if not math.isfinite(seconds):
        return MISSING
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
