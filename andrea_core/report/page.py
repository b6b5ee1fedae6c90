"""Writes a run's report: one HTML page with every figure and the library that draws them, no network needed."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from importlib.resources import files
from pathlib import Path

import attrs
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from andrea_core.errors import RunError
from andrea_core.report.cliffs import cliffs_panel
from andrea_core.report.header import header, summary_html
from andrea_core.report.heads import maps_panel, overlap_panel
from andrea_core.report.heldout import heldout_panel, progress_panel
from andrea_core.report.landscape import basin_panel
from andrea_core.report.ledger import epochs_panel, ledger_panel
from andrea_core.report.panel import Panel
from andrea_core.report.probe_costs import costs_panel
from andrea_core.report.probes import probe_panels
from andrea_core.report.scores import rewards_panel, scores_panel
from andrea_core.report.ternary import ternary_panel
from andrea_core.report.terrain import plane_panel
from andrea_core.report.texts import events_panel, samples_panel
from andrea_core.report.timing import timing_panel
from andrea_core.report.training import training_panel
from andrea_core.report.truth import truth_panel
from andrea_core.report.walk import walk_panel
from andrea_core.report.weights import parking_panel, weights_panel
from andrea_core.runs.files import write_text
from andrea_core.runs.store import Run, open_run

REPORT = "report.html"
SCRIPTS = ("page.js", "reach.js", "ternary.js")


LANDSCAPE = (basin_panel, plane_panel, maps_panel, overlap_panel)
"""What is drawn of basins, slices and attention, in a run's report and beside other probes."""


@attrs.frozen
class Section:
    """A section of the page: what draws its panels, and what it says when there is nothing to draw."""

    key: str
    title: str
    panels: Sequence[Callable[[Run], Panel | None]]
    empty: str


SECTIONS = (
    Section("walk", "The walk", (walk_panel, ternary_panel), "No phase was recorded, or there is only one source."),
    Section("weights", "Weights", (weights_panel, parking_panel), "No phase was recorded."),
    Section("heldout", "Held-out loss", (heldout_panel, progress_panel), "Nothing was measured on held-out text."),
    Section("training", "Training", (truth_panel, training_panel, cliffs_panel), "No step was recorded."),
    Section(
        "scores",
        "Notes and rewards",
        (scores_panel, rewards_panel),
        "No policy noted anything; no reward was recorded.",
    ),
    Section("ledger", "Ledger", (ledger_panel, epochs_panel), "No phase was recorded."),
    Section("timing", "Time", (timing_panel, costs_panel), "No times were recorded."),
    Section("samples", "Samples", (samples_panel,), "No text was sampled; the probe text_health does that."),
    Section(
        "landscape",
        "Landscape",
        LANDSCAPE,
        "No probe measured widths, curvature, slices or attention; basin_width, sharpness, slices and attention do.",
    ),
    Section("probes", "Probes", (), "No probe measured numbers."),
    Section("events", "Events", (events_panel,), "Nothing out of the ordinary was recorded."),
)


def write_report(run_folder: str | os.PathLike[str]) -> Path:
    """Write `report.html` into a run folder, replacing an older one at once, and return its path.

    A run that is going on or broke off is shown as far as it came; in the place of what cannot be read stands why.
    Raises RunError when the folder is no run, or the page cannot be written there.
    """
    run = open_run(run_folder)
    target = run.folder / REPORT
    write_text(target, page(run))
    return target


def page(run: Run) -> str:
    """Return the whole page as HTML."""
    bodies = {section.key: _section(run, section) for section in SECTIONS}
    titles = {"overview": "Overview"} | {section.key: section.title for section in SECTIONS} | {"scenario": "Scenario"}
    links = "".join(f'<a href="#{key}">{escape(title)}</a>' for key, title in titles.items())
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(run.name)}</title><link rel="icon" href="data:,"><style>{_asset("page.css")}</style></head>\n'
        f'<body><div class="layout"><nav><b>andrea</b>{links}</nav><main>{_overview(run)}{"".join(bodies.values())}'
        f"{_scenario(run)}</main></div>\n<script>{get_plotlyjs()}</script>\n"
        f"{''.join(f'<script>{_asset(name)}</script>' for name in SCRIPTS)}</body></html>\n"
    )


def panels_page(title: str, panels: Sequence[Panel | None]) -> str:
    """Return a page of its own with some panels, and the library that draws them."""
    inside = _panels(panels) or '<div class="panel"><p class="empty">There are no numbers to draw.</p></div>'
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,"><style>{_asset("page.css")}</style></head>\n'
        f"<body><main><section><h2>{escape(title)}</h2>{inside}</section></main>\n"
        f"<script>{get_plotlyjs()}</script>\n<script>{_asset('page.js')}</script></body></html>\n"
    )


def _overview(run: Run) -> str:
    how = (
        "Shares in per cent: requested and landed weights averaged over steps, rows drawn, tokens trained. Then "
        "passes over the source's own text, its order-0 entropy, and held-out loss in bits per byte where it was "
        "measured: at the start, after a stage, at the end; or last, at a step of its own, in a run that broke off."
    )
    summary = _readable(lambda: summary_html(run))
    return (
        f'<section id="overview">{_readable(lambda: header(run))}<div class="panel"><h3>Summary</h3>'
        f'<p class="how">{how}</p>{summary}</div></section>'
    )


def _section(run: Run, section: Section) -> str:
    drawn = [_readable(partial(_drawn, build, run)) for build in section.panels]
    if section.key == "probes":
        drawn = [_readable(lambda: _panels(probe_panels(run)))]
    inside = "".join(drawn) or f'<div class="panel"><p class="empty">{escape(section.empty)}</p></div>'
    return f'\n<section id="{section.key}"><h2>{escape(section.title)}</h2>{inside}</section>'


def _readable(draw: Callable[[], str]) -> str:
    """Return what `draw` returns, or what it cannot read: the rest of a damaged record is still worth a page."""
    try:
        return draw()
    except RunError as error:
        return f'<div class="panel"><p class="empty">{escape(str(error))}</p></div>'


def _drawn(build: Callable[[Run], Panel | None], run: Run) -> str:
    return _panels([build(run)])


def _panels(panels: Sequence[Panel | None]) -> str:
    return "".join(_panel(panel) for panel in panels if panel is not None)


def _panel(panel: Panel) -> str:
    more = f"<details><summary>more</summary>{escape(panel.more)}</details>" if panel.more else ""
    head = f'<h3>{escape(panel.title)}</h3><div class="how">{escape(panel.how)}{more}</div>'
    figures = "".join(_figure(f"{panel.key}-{i}", figure) for i, figure in enumerate(panel.figures))
    beside = f'<div class="beside">{figures}</div>' if len(panel.figures) > 1 else figures
    return f'<div class="panel">{head}{panel.html}{beside}</div>'


def _figure(name: str, figure: go.Figure) -> str:
    """Return a figure as a place and its numbers; no `<` stands in them, so nothing in a run can end the script."""
    key = escape(f"spec-{name}", quote=True)
    spec = str(figure.to_json(validate=False)).replace("<", "\\u003c")
    place = f'<div class="figure" data-spec="{key}" style="height:{figure.layout.height}px"></div>'
    caption = escape((figure.layout.meta or {}).get("caption", ""))
    above = f'<div class="caption">{caption}</div>' if caption else ""
    return f'<div>{above}{place}<script type="application/json" id="{key}">{spec}</script></div>'


def _scenario(run: Run) -> str:
    text = f"<pre>{escape(run.scenario)}</pre>" if run.scenario else '<p class="empty">scenario.toml is not there.</p>'
    how = "What was run, resolved: every setting with its value."
    return (
        f'\n<section id="scenario"><h2>Scenario</h2><div class="panel"><p class="how">{how}</p><details><summary>'
        f"show scenario.toml</summary>{text}</details></div></section>"
    )


def _asset(name: str) -> str:
    return files("andrea_core.report").joinpath(f"assets/{name}").read_text(encoding="utf-8")
