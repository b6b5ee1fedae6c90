"""The walk of a run by itself, quickly: one page with the walk, the truth of a simulated run, and the weights."""

import os
from html import escape
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from andrea_core.report.truth import truth_panel
from andrea_core.report.walk import walk_panel
from andrea_core.report.weights import weights_panel
from andrea_core.runs.files import write_text
from andrea_core.runs.store import open_run

WALKS = "walks.html"
CONFIG = {"displaylogo": False, "responsive": True}


def write_walks(run_folder: str | os.PathLike[str]) -> Path:
    """Write `walks.html` into a run folder and return its path: a part of the report, in a fraction of its time.

    Raises RunError when the folder is no run, or the page cannot be written there.
    """
    run = open_run(run_folder)
    parts = []
    for panel in (build(run) for build in (walk_panel, truth_panel, weights_panel)):
        if panel is None:
            continue
        figures = [_figure(one) for one in panel.figures]
        parts.append(f"<h2>{escape(panel.title)}</h2><p>{escape(panel.how)}</p>{''.join(figures)}")
    target = run.folder / WALKS
    head = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(run.name)}</title>'
    look = "body{font-family:system-ui,sans-serif;margin:24px auto;max-width:1100px;color:#1f2733}h2{font-size:17px}"
    style = f"<style>{look}</style>"
    script = f"<script>{get_plotlyjs()}</script></head>"
    write_text(target, f"{head}{style}{script}<body><h1>{escape(run.name)}</h1>{''.join(parts)}</body></html>\n")
    return target


def _figure(one: go.Figure) -> str:
    """Return a figure below its caption: without it, pictures of one walk on two planes look like two walks."""
    caption = escape((one.layout.meta or {}).get("caption", ""))
    return (f"<p><b>{caption}</b></p>" if caption else "") + str(
        one.to_html(full_html=False, include_plotlyjs=False, config=CONFIG)
    )
