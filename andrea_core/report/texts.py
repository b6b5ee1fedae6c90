"""The run's words: generated samples with their health score, and the events, as HTML."""

from html import escape

import numpy as np

from andrea_core.report.panel import Panel
from andrea_core.report.terminal import MISSING, number
from andrea_core.report.timeline import every
from andrea_core.runs.store import Run

SAMPLES, EVENTS, LETTERS = 60, 400, 1500
HEALTHY = 100.0


def samples_panel(run: Run) -> Panel | None:
    """Return generated texts as cards, each with its step and score; None when there is none."""
    if not run.samples.has("step", "text"):
        return None
    shown = every(run.samples.rows, SAMPLES)
    scores = run.samples["score"] if "score" in run.samples else np.full(run.samples.rows, np.nan)
    cards = [_card(int(run.samples["step"][i]), str(run.samples["text"][i]), float(scores[i])) for i in shown]
    how = "What the model wrote, and its health score: 100 is varied text, near 0 is one phrase over and over."
    more = (
        f"{len(shown)} of {run.samples.rows} samples are shown, evenly spread." if len(shown) < run.samples.rows else ""
    )
    return Panel("samples", "Samples", how, more, html=f'<div class="cards">{"".join(cards)}</div>')


def events_panel(run: Run) -> Panel | None:
    """Return the events as a table; None when there is none."""
    if not run.events.has("step", "text"):
        return None
    kinds = run.events["kind"] if "kind" in run.events else [""] * run.events.rows
    shown = every(run.events.rows, EVENTS)
    rows = [
        f'<tr><td class="n">{int(run.events["step"][i]):,}</td>'
        f'<td><span class="tag">{escape(str(kinds[i]))}</span></td>'
        f"<td>{escape(str(run.events['text'][i]))}</td></tr>"
        for i in shown
    ]
    more = f"{len(shown)} of {run.events.rows} are shown." if len(shown) < run.events.rows else ""
    head = "<thead><tr><th class='n'>step</th><th>kind</th><th>what happened</th></tr></thead>"
    table = f'<div class="scroll"><table class="events">{head}<tbody>{"".join(rows)}</tbody></table></div>'
    how = "What happened beside training: constraints that gave way, rewards that were dropped, stops, resumes."
    return Panel("events", "Events", how, more, html=table)


def _card(step: int, text: str, score: float) -> str:
    cut = text if len(text) <= LETTERS else text[:LETTERS] + " …"
    head = f"<header><span>step {step:,}</span>{_bar(score)}</header>"
    return f'<article class="card">{head}<pre>{escape(cut)}</pre></article>'


def _bar(score: float) -> str:
    if not np.isfinite(score):
        return f'<span class="score">score {MISSING}</span>'
    width = min(max(score, 0.0), HEALTHY)
    hue = round(1.2 * width)
    fill = f'<i style="width:{width:.0f}%;background:hsl({hue} 60% 45%)"></i>'
    return f'<span class="score">score {number(score, 0)} <span class="bar">{fill}</span></span>'
