"""A policy's notes stand under their own name, and the heat map's grey is one grey."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from andrea_core.report.page import page
from andrea_core.report.panel import Panel
from andrea_core.report.scores import UNSEEN, rewards_panel, scores_panel
from andrea_core.runs.store import Run, open_run


def noted(tmp_path: Path, synthetic: ModuleType, policy: str, *names: str) -> Run:
    """Three phases, of which the policy acted in the first two and left notes."""
    store = synthetic.empty_run(tmp_path / "run", ["a", "b"])
    phases = store.create_group("phases")
    rows = {"start": np.arange(3) * 5, "steps": np.full(3, 5), "policy": np.array([1, 1, 0], np.int32)}
    synthetic.put(phases, rows)
    phases["policy"].attrs["names"] = ["random", policy]
    values = np.array([[0.5, 2.0], [1.0, 3.0], [np.nan, np.nan]])
    synthetic.put(phases.create_group("notes"), dict.fromkeys(names, values))
    return open_run(tmp_path / "run")


def panel_of(run: Run) -> Panel:
    panel = scores_panel(run)
    assert panel is not None
    return panel


def test_a_plugins_note_is_named_and_nothing_is_said_of_ucb(tmp_path: Path, synthetic: ModuleType) -> None:
    run = noted(tmp_path, synthetic, "softmax", "logit")
    panel = panel_of(run)
    assert panel.title == "What the policies noted"
    assert panel.figures[0].layout.yaxis.title.text == "logit"
    assert "logit, noted by softmax" in panel.how
    assert "UCB" not in panel.title + panel.how + panel.more
    assert "UCB score" not in page(run)


@pytest.mark.parametrize(
    ("policy", "note", "ucb"), [("ucb1", "score", 1), ("softmax", "score", 0), ("ucb1", "odds", 0)]
)
def test_ucb_scores_are_called_so_only_when_ucb1_noted_a_score(
    policy: str, note: str, ucb: int, tmp_path: Path, synthetic: ModuleType
) -> None:
    panel = panel_of(noted(tmp_path, synthetic, policy, note))
    assert ("UCB scores" in panel.title) == bool(ucb)
    assert panel.title.startswith("What the policies noted")
    assert ("steps toward the vertex" in panel.how) == bool(ucb)


def test_the_drop_down_changes_the_axis_title_with_the_note(tmp_path: Path, synthetic: ModuleType) -> None:
    figure = panel_of(noted(tmp_path, synthetic, "p", "odds<1", "score")).figures[0]
    assert figure.layout.yaxis.title.text == "score"
    buttons = figure.layout.updatemenus[0].buttons
    assert [button.label for button in buttons] == ["score", "odds&lt;1"]
    for button in buttons:
        assert button.method == "update"
        shown = [t for t, visible in zip(figure.data, button.args[0]["visible"], strict=True) if visible]
        assert button.args[1] == {"yaxis.title.text": button.label}
        assert [t.name for t in shown] == ["a", "b"]
        assert all(t.hovertemplate.startswith(button.label) for t in shown)


def test_the_heat_map_has_one_grey_for_unseen_in_every_stage(run_of: Callable[[str], Run]) -> None:
    figure = rewards_panel(run_of("full")).figures[0]  # type: ignore[union-attr]
    assert figure.layout.plot_bgcolor == UNSEEN
    assert [shape.type for shape in figure.layout.shapes] == ["line", "line"]  # borders, no tint
    assert [note.text for note in figure.layout.annotations] == ["warmup", "firehose", "polish"]
    red, green, blue = (int(UNSEEN[i : i + 2], 16) for i in (1, 3, 5))
    assert max(red, green, blue) - min(red, green, blue) < 16
