"""The ternary view: the walk's numbers and the choices of three sources or groups, for the page to draw."""

import base64
import json
from html import escape
from typing import Any

import numpy as np

from andrea_core.report.panel import Panel
from andrea_core.report.style import source_colours, stage_colours
from andrea_core.report.summary import share
from andrea_core.report.timeline import Floats, every, policy_names, stage_names
from andrea_core.runs.store import Run
from andrea_core.values import Mask

MOST = 1500
REST = "rest"
_CORNERS = ("top", "left", "right")


def ternary_panel(run: Run) -> Panel | None:
    """Return the ternary view with its controls; None without phases or with fewer than three sources."""
    if run.phases.rows == 0 or not run.phases.has("weights", "start") or len(run.sources) < 3:
        return None
    how = (
        "Each corner is a source, a group, or all the rest; the larger a corner's part of the three together, the "
        "nearer to it lies the phase."
    )
    more = (
        "Tinted areas are what each stage's bounds let these three reach, exactly. Choose a source for a corner, or "
        "build groups; colours and marks are those of the walk above."
    )
    data = json.dumps(ternary_data(run), ensure_ascii=True).replace("<", "\\u003c")
    blob = f'<script type="application/json" id="ternary-data">{data}</script>'
    return Panel("ternary", "Three sources or groups", how, more, html=_controls(run) + blob)


def ternary_data(run: Run) -> dict[str, Any]:
    """Return what the script needs: sources, groups, presets, stages with their bounds, and the phases' weights."""
    shown = every(run.phases.rows, MOST)
    stages, policies = stage_names(run) or ["run"] * run.phases.rows, policy_names(run)
    colours = stage_colours(stages)
    kinds = list(dict.fromkeys(sorted(policies)))
    return {
        "sources": run.sources,
        "colours": source_colours(len(run.sources)),
        "groups": groups_of(run),
        "presets": presets(run),
        "stages": [{"name": name, "colour": colour, **_bounds(run, stages, name)} for name, colour in colours.items()],
        "policies": kinds,
        "weights": _packed(run.phases["weights"][shown]),
        "before": _packed(run.phases["weights"][np.maximum(shown - 1, 0)]),
        "phase": shown.tolist(),
        "step": run.phases["start"][shown].astype(int).tolist(),
        "stage": [list(colours).index(stages[i]) for i in shown],
        "policy": [kinds.index(policies[i]) for i in shown],
    }


def groups_of(run: Run) -> dict[str, list[int]]:
    """Return groups of sources by name: the record's own (root attribute `groups`), else those that the stages make."""
    given = run.attributes.get("groups")
    if isinstance(given, dict):
        index = {name: k for k, name in enumerate(run.sources)}
        named = {str(group): [index[m] for m in members if m in index] for group, members in given.items()}
        return {group: members for group, members in named.items() if members}
    return _groups_by_stage(run)


def presets(run: Run) -> dict[str, list[Any]]:
    """Return choices of three corners by label; a corner is a source's index, a group's name, or "rest"."""
    heaviest = np.argsort(-np.nan_to_num(share(run, "weights")), kind="stable").tolist()
    found: dict[str, list[Any]] = {
        "the two heaviest sources and the rest": [*heaviest[:2], REST],
        "the three heaviest sources": heaviest[:3],
    }
    members = groups_of(run)
    groups = list(members)
    left = len(set(range(len(run.sources))).difference(*members.values()))
    if len(groups) > 2 or (len(groups) == 2 and left):
        corners = groups[:3] if len(groups) > 2 else [*groups, REST]
        found = {"groups: " + ", ".join(map(str, corners)): corners} | found
    return found


def _groups_by_stage(run: Run) -> dict[str, list[int]]:
    """Split the sources into those open in the first stage, those shut in the last one, and the others."""
    stages = stage_names(run)
    if "upper" not in run.phases or len(set(stages)) < 2:
        return {}
    first = _open(run, np.array(stages) == stages[0])
    last = _open(run, np.array(stages) == stages[-1])
    early, late = f"open in {stages[0]}", f"shut in {stages[-1]}"
    split = {early: first & last, late: ~last, "others": ~first & last}
    groups = {name: np.flatnonzero(mask).tolist() for name, mask in split.items()}
    return {name: members for name, members in groups.items() if members}


def _packed(values: Floats) -> str:
    return base64.b64encode(values.astype("<f4").tobytes()).decode("ascii")


def _open(run: Run, rows: Mask) -> Mask:
    return np.asarray((run.phases["upper"][rows] > 0).any(axis=0))


def _bounds(run: Run, stages: list[str], name: str) -> dict[str, list[float]]:
    """Return the smallest box around a stage's bounds; nothing when they were not recorded."""
    if not run.phases.has("lower", "upper"):
        return {}
    rows = np.array(stages) == name
    return {
        "lower": run.phases["lower"][rows].min(axis=0).tolist(),
        "upper": run.phases["upper"][rows].max(axis=0).tolist(),
    }


def _controls(run: Run) -> str:
    picks = "".join(f'<label>{corner} <select id="corner-{i}"></select></label>' for i, corner in enumerate(_CORNERS))
    head = "".join(f"<th>{corner}</th>" for corner in _CORNERS)
    rows = "".join(
        f"<tr><td>{escape(name)}</td>"
        + "".join(
            f'<td><input type="checkbox" data-source="{k}" data-corner="{i}" '
            f'aria-label="{escape(name, quote=True)} in the {corner} corner"></td>'
            for i, corner in enumerate(_CORNERS)
        )
        + "</tr>"
        for k, name in enumerate(run.sources)
    )
    return (
        f'<div class="controls"><label>show <select id="ternary-preset"></select></label>{picks}</div>'
        '<details class="grid"><summary>build groups</summary><div class="scroll"><table>'
        f"<thead><tr><th>source</th>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>"
        '<p class="note" id="ternary-note"></p><div class="figure" id="ternary-figure" style="height:640px"></div>'
    )
