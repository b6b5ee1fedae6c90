"""The figure of cliffs: a curve a source, from that source's rows alone, and a mark where an event began."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import zarr

from andrea_core.report.cliffs import cliffs_panel
from andrea_core.report.page import page
from andrea_core.runs.store import open_run

STEPS = 300


@pytest.fixture
def folder(synthetic: ModuleType, tmp_path: Path) -> Path:
    path = synthetic.write_run(tmp_path / "run", sources=["a<b", "c"], steps=STEPS)
    source = np.tile(np.array([0, 1, 1], np.int16), (STEPS, 1))
    loss = np.where(source == 0, 2.0, 3.0)
    loss[120:, 0] = 0.5
    store = zarr.open_group(path / "run.zarr", mode="a")
    synthetic.put(store["steps"], {"row_loss": (loss * 128).astype(np.float32), "row_source": source})
    return Path(path)


def watched(synthetic: ModuleType, folder: Path) -> None:
    store = zarr.open_group(folder / "run.zarr", mode="a")
    texts = {"verdict": ["", "memorised_gully", "unexplained"], "source": ["", "a<b", ""]}
    numbers = {"at": [np.nan, 121.0, 200.0], "after": [np.nan, 0.5, 2.4]}
    rows = {name: np.array(values, object) for name, values in texts.items()}
    rows |= {name: np.array(values) for name, values in numbers.items()} | {"step": np.array([100, 130, 210])}
    synthetic.put(store.create_group("probes/cliff"), rows)


def test_each_curve_is_the_mean_of_its_own_sources_rows_and_events_stand_where_they_began(
    synthetic: ModuleType, folder: Path
) -> None:
    watched(synthetic, folder)
    panel = cliffs_panel(open_run(folder))
    assert panel is not None
    first, second, *marks = panel.figures[0].data

    assert (first.name, second.name) == ("a&lt;b", "c")
    assert {float(y) for y, x in zip(first.y, first.x, strict=True) if x < 120} == {2.0}
    assert {float(y) for y, x in zip(first.y, first.x, strict=True) if x > 121} == {0.5}
    assert set(second.y.tolist()) == {3.0}
    assert [(mark.name, list(mark.x), mark.y.tolist()) for mark in marks] == [
        ("memorised_gully", [121], [0.5]),
        ("unexplained", [200], [pytest.approx(2.4)]),
    ]
    assert marks[0].marker.color[0] == first.line.color
    assert "Events told: 2." in panel.more
    assert "its events" in page(open_run(folder))


def test_a_run_that_nothing_watched_has_no_such_figure(folder: Path) -> None:
    assert cliffs_panel(open_run(folder)) is None
