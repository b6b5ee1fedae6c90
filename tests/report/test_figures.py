"""What each figure draws is what the run recorded."""

import base64
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from andrea_core.report.heldout import heldout_panel
from andrea_core.report.ledger import ledger_panel
from andrea_core.report.projection import polygon
from andrea_core.report.scores import rewards_panel, scores_panel
from andrea_core.report.style import source_colours, stage_colours
from andrea_core.report.ternary import presets, ternary_data
from andrea_core.report.texts import samples_panel
from andrea_core.report.timing import timing_panel
from andrea_core.report.training import training_panel
from andrea_core.report.walk import walk_panel
from andrea_core.report.weights import weights_panel
from andrea_core.runs.store import Run, open_run


def traces(panel: Any, figure: int = 0) -> list[Any]:
    return list(panel.figures[figure].data)


def test_stacked_weights_are_the_landed_ones_and_sum_to_one(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    drawn = np.array([trace.y for trace in traces(weights_panel(run))])
    assert {(trace.line.shape, trace.x[-1]) for trace in traces(weights_panel(run))} == {("hv", 600)}
    assert pytest.approx(run.phases["weights"], abs=1e-6) == drawn[:, :-1].T
    assert drawn.sum(axis=0) == pytest.approx(np.ones(drawn.shape[1]), abs=1e-5)


def test_every_phase_of_the_walk_has_one_mark_and_kinds_of_policy_differ(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    marks = [t for t in traces(walk_panel(run)) if t.mode == "markers" and t.hoverinfo == "text"]
    assert sum(len(t.x) for t in marks) == run.phases.rows
    random = [t for t in marks if t.marker.symbol == "circle-open"]
    assert sum(len(t.x) for t in random) == run.phases.decoded("policy").count("random")
    assert {t.marker.symbol for t in marks} == {"circle-open", "arrow"}


def test_arrows_point_along_the_last_move_even_where_the_phase_before_is_not_shown(
    run_of: Callable[[str], Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of("full")
    monkeypatch.setattr("andrea_core.report.walk.MOST", 7)
    arrows = [t for t in traces(walk_panel(run), 1) if t.mode == "markers" and t.marker.symbol == "arrow" and t.text]
    plane, weights = polygon(16), run.phases["weights"].astype(float)
    for trace in arrows:
        for text, angle in zip(trace.text, trace.marker.angle, strict=True):
            phase = int(text.split(",")[0].removeprefix("phase "))
            x, y = plane.project(weights[phase]) - plane.project(weights[phase - 1])
            assert angle == pytest.approx(np.degrees(np.arctan2(x, y)), abs=1e-3)
    assert arrows


def test_the_walk_shows_three_regions_in_three_colours(run_of: Callable[[str], Run]) -> None:
    filled = [t for t in traces(walk_panel(run_of("full"))) if t.fill == "toself"]
    assert [t.legendgroup for t in filled] == ["warmup", "firehose", "polish"]
    assert len({t.line.color for t in filled}) == 3


def test_the_walk_says_which_projection_it_is_and_what_it_shows(run_of: Callable[[str], Run]) -> None:
    captions = [figure.layout.meta["caption"] for figure in walk_panel(run_of("full")).figures]  # type: ignore[union-attr]
    assert captions[0].startswith("Principal plane (PCA): shows ")
    assert "of the walk's variance" in captions[0]
    assert captions[1].startswith("Regular polygon")


def test_held_out_curves_are_the_recorded_ones_with_the_order0_entropy_on_hover(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    found = traces(heldout_panel(run))
    assert len(found) == 17
    assert found[3].y == pytest.approx(run.evals["bits_per_byte"][:, 3], abs=1e-5)
    assert "order-0 entropy 4.350" in found[3].hovertemplate
    assert found[-1].y == pytest.approx(run.evals["bits_per_byte"].mean(axis=1), abs=1e-5)


def test_ledger_bars_of_a_stage_are_that_stages_shares(run_of: Callable[[str], Run]) -> None:
    panel = ledger_panel(run_of("full"))
    bars = traces(panel)
    labels = [button.label for button in panel.figures[0].layout.updatemenus[0].buttons]  # type: ignore[union-attr]
    assert labels == ["whole run", "stage warmup", "stage firehose", "stage polish"]
    assert [bar.name for bar in bars[:4]] == ["requested", "landed", "rows drawn", "tokens trained"]
    assert all(sum(bar.y) == pytest.approx(1, abs=1e-5) for bar in bars)
    assert bars[4].y[7:] == pytest.approx(np.zeros(9))


def test_infinite_scores_are_left_out_and_finite_ones_drawn(tmp_path: Path, synthetic: ModuleType) -> None:
    folder = synthetic.write_run(tmp_path / "run", sources=["a", "b", "c"], steps=200)
    store = synthetic.zarr.open_group(folder / "run.zarr", mode="r+")
    scores = store["phases/notes/score"][:]
    acted = np.flatnonzero(np.isfinite(scores[:, 0]))
    scores[acted[0], 0] = np.inf
    store["phases/notes/score"][:] = scores
    drawn = traces(scores_panel(open_run(folder)))[0]
    assert len(drawn.y) == len(acted) - 1
    assert np.isfinite(drawn.y).all()


def test_rewards_leave_unseen_sources_blank(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    drawn = np.array(traces(rewards_panel(run))[0].z)
    assert (np.isnan(drawn.T) == np.isnan(run.phases["reward"])).all()


def test_time_adds_up_to_what_was_recorded(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    bars = [t for t in traces(timing_panel(run)) if t.type == "bar" and t.orientation == "h"]
    assert [bar.name for bar in bars] == ["data", "model", "policy", "recording", "probes"]
    assert sum(bar.x[0] for bar in bars) == pytest.approx(run.phases["seconds"].sum())


def test_the_loss_is_drawn_raw_and_as_a_running_mean(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    raw, mean = traces(training_panel(run))[:2]
    assert raw.y == pytest.approx(run.steps["loss"])
    assert mean.y[-1] == pytest.approx(run.steps["loss"][-6:].mean(), abs=1e-5)


def test_a_source_has_one_colour_in_every_figure(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    colours = source_colours(16)
    assert [t.fillcolor for t in traces(weights_panel(run))] == colours
    assert [t.line.color for t in traces(heldout_panel(run))[:16]] == colours
    assert ternary_data(run)["colours"] == colours


@pytest.mark.parametrize("count", [1, 16, 40, 80])
def test_colours_of_sources_are_all_different(count: int) -> None:
    assert len(set(source_colours(count))) == count


def test_stage_colours_follow_the_order_of_appearance() -> None:
    assert list(stage_colours(["x", "y", "x", "z"])) == ["x", "y", "z"]


def test_the_ternary_view_carries_the_weights_and_bounds_of_the_run(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    data = ternary_data(run)
    weights = np.frombuffer(base64.b64decode(data["weights"]), "<f4").reshape(-1, 16)
    assert weights == pytest.approx(run.phases["weights"], abs=1e-6)
    assert [stage["name"] for stage in data["stages"]] == ["warmup", "firehose", "polish"]
    assert data["stages"][2]["lower"][0] == 0.7
    assert data["stages"][2]["upper"][9] == 0.0


def test_groups_follow_the_stages_unless_the_run_names_its_own(tmp_path: Path, synthetic: ModuleType) -> None:
    folder = synthetic.write_run(tmp_path / "run", steps=300)
    assert list(ternary_data(open_run(folder))["groups"]) == ["open in warmup", "shut in polish", "others"]
    store = synthetic.zarr.open_group(folder / "run.zarr", mode="r+")
    store.attrs["groups"] = {"prose": ["gutenberg", "nowhere"], "code": ["repo-docs", "stdlib"]}
    run = open_run(folder)
    assert ternary_data(run)["groups"] == {"prose": [6], "code": [9, 15]}
    assert presets(run)["groups: prose, code, rest"] == ["prose", "code", "rest"]


def test_samples_show_step_text_and_score(run_of: Callable[[str], Run]) -> None:
    cards = samples_panel(run_of("full")).html.split("<article")[1:]  # type: ignore[union-attr]
    assert len(cards) == 3
    assert "step 0" in cards[0]
    assert "score 8 " in cards[0]
    assert "width:8%" in cards[0]
    assert "score -" in cards[1]
