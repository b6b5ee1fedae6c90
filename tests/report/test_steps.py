"""Figures over the steps hold a phase's value to its end, begin at 0 and reach the record's last step."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from andrea_core.report.ledger import epochs_panel
from andrea_core.report.timeline import last_step, phase_ends
from andrea_core.report.timing import timing_panel
from andrea_core.report.training import log_ticks, training_panel
from andrea_core.report.weights import parking_panel
from andrea_core.runs.store import Run


def curves(panel: Any) -> list[Any]:
    return [trace for trace in panel.figures[0].data if trace.type == "scatter"]


def test_parking_holds_each_value_until_the_next_phase_and_to_the_last_step(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    lines = [trace for trace in curves(parking_panel(run)) if trace.mode == "lines"]
    assert len(lines) == 3  # both measures and the count of open sources
    for line in lines:
        assert line.line.shape == "hv"
        assert (line.x[0], line.x[-1]) == (0, last_step(run))
        assert line.y[-1] == line.y[-2]


def test_time_a_step_is_drawn_in_steps_and_leaves_the_probes_out(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    areas = curves(timing_panel(run))
    assert [area.name for area in areas] == ["data", "model", "policy", "recording"]
    for k, area in enumerate(areas):
        assert area.line.shape == "hv"
        assert (area.x[0], area.x[-1]) == (0, last_step(run))
        seconds = np.array(area.y[:-1]) * np.diff(area.x) / 1000
        assert seconds.sum() == pytest.approx(run.phases["seconds"][:, k].sum(), rel=1e-5)


def test_the_probes_time_is_a_bar_at_each_phases_end(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    bar = next(t for t in timing_panel(run).figures[0].data if t.type == "bar" and t.orientation != "h")  # type: ignore[union-attr]
    assert list(bar.x) == phase_ends(run).tolist()
    assert bar.y == pytest.approx(run.phases["seconds"][:, 4], rel=1e-5)


def test_a_long_run_draws_the_longest_probe_times_and_says_so(
    run_of: Callable[[str], Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("andrea_core.report.timing.MOST", 5)
    run = run_of("full")
    panel = timing_panel(run)
    bar = next(t for t in panel.figures[0].data if t.type == "bar" and t.orientation != "h")  # type: ignore[union-attr]
    assert sorted(bar.y) == pytest.approx(np.sort(run.phases["seconds"][:, 4])[-5:], rel=1e-5)
    assert list(bar.x) == sorted(bar.x)
    assert "the 5 longest" in panel.more  # type: ignore[union-attr]


def test_epochs_begin_with_none_at_step_0_and_end_at_the_last_step(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    for k, curve in enumerate(curves(epochs_panel(run))):
        assert (curve.x[0], curve.y[0]) == (0, 0)
        assert curve.x[-1] == last_step(run)
        assert curve.y[-1] == pytest.approx(run.phases["epochs"][-1, k], rel=1e-5)


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.2, 30.0], ["0.2", "0.5", "1", "2", "5", "10", "20", "50"]),
        ([0.9, 1.2], ["0.5", "1", "2"]),
        ([3.1, 3.3], ["2", "5"]),
        ([2.0, 2.0], ["1", "2", "5"]),
        ([0.003, 4000.0], ["0.001", "0.01", "0.1", "1", "10", "100", "1,000", "10,000"]),
        ([1e-8, 1.0], ["1e-08", "1e-07", "0.000001", "0.00001", "0.0001", "0.001", "0.01", "0.1", "1"]),
        ([np.nan, np.inf, 0.0, -1.0], ["0.5", "1", "2"]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_full_numbers(values: list[float], ticks: list[str]) -> None:
    found = log_ticks(np.array(values))
    assert found["ticktext"] == ticks
    seen = [value for value in values if 0 < value < np.inf] or [1.0]
    assert found["tickvals"][0] <= min(seen) <= max(seen) <= found["tickvals"][-1]
    assert found["range"] == pytest.approx(np.log10([found["tickvals"][0], found["tickvals"][-1]]))
    assert [float(text.replace(",", "")) for text in ticks] == found["tickvals"]


def test_the_gradient_norms_axis_has_such_ticks(run_of: Callable[[str], Run]) -> None:
    run = run_of("full")
    axis = training_panel(run).figures[0].layout.yaxis3  # type: ignore[union-attr]
    assert (axis.type, axis.dtick) == ("log", None)
    assert list(axis.ticktext) == log_ticks(run.steps["grad_norm"].astype(float))["ticktext"]
