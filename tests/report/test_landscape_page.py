"""The landscape page shows widths, curvature and loss with their errors, the plane with its path, and the heads."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from andrea_core.report.heads import maps_panel, overlap_panel
from andrea_core.report.landscape import basin_panel
from andrea_core.report.page import page
from andrea_core.report.terrain import plane_panel
from andrea_core.runs.store import Run, open_run

STEPS = np.array([1126, 2000])
PANELS = (basin_panel, plane_panel, maps_panel, overlap_panel)
BASIN = {"width": [0.02, 0.011], "width_error": [0.002, 0.001], "width_relative": [0.03, np.nan]}


def attention(layers: int = 2, heads: int = 3, shown: int = 4) -> dict[str, np.ndarray]:
    weights = np.tile(np.tri(shown) / np.arange(1, shown + 1)[:, None], (2, layers, heads, 1, 1))
    overlaps = np.tile(np.eye(heads) * 0.75 + 0.25, (2, layers, 1, 1))
    return {
        "weights": weights,
        "query_overlap": overlaps,
        "key_overlap": overlaps,
        "entropy": np.full((2, layers, heads), 0.625),
        "random_overlap": np.full(2, 0.25),
    }


def plane() -> dict[str, np.ndarray]:
    places = np.linspace(-1, 1, 5)
    bowl = 2 + places[:, None] ** 2 + 3 * places**2
    path = np.array([[1.0, 0.5], [0.5, 1.0], [0.0, 0.0], [np.nan, np.nan]])
    return {
        "places": np.stack([places] * 2),
        "plane": np.stack([bowl] * 2),
        "path": np.stack([path] * 2),
        "shares": np.array([[0.8, 0.15]] * 2),
    }


@pytest.fixture
def run(tmp_path: Path, synthetic: ModuleType) -> Run:
    store = synthetic.empty_run(tmp_path / "run", ["a", "b"], synthetic.curriculum(2, 2000))
    bits = {"bits_per_byte": np.array([[3.0, 4.0], [2.5, 3.0]]), "bits_per_byte_error": np.array([[0.3, 0.4]] * 2)}
    tables = {
        "eval": bits,
        "probes/basin_width": {name: np.array(values) for name, values in BASIN.items()},
        "probes/sharpness": {"largest": np.array([70.0, 110.0]), "residual": np.array([0.01, 0.02])},
        "probes/slices": plane(),
        "probes/attention": attention(),
    }
    for name, arrays in tables.items():
        synthetic.put(store.create_group(name), {"step": STEPS, **arrays})
    return open_run(tmp_path / "run")


def test_each_number_of_the_basin_has_its_error_bar(run: Run) -> None:
    panel = basin_panel(run)
    assert panel is not None
    drawn = {trace.name: trace for trace in panel.figures[0].data}

    np.testing.assert_allclose(drawn["held-out bits per byte"].y, [3.5, 2.75])
    np.testing.assert_allclose(drawn["held-out bits per byte"].error_y.array, [0.25, 0.25])  # hypot(0.3, 0.4) / 2
    np.testing.assert_allclose(drawn["largest curvature λ₁"].error_y.array, [0.7, 2.2], rtol=1e-6)
    (width,) = (trace for name, trace in drawn.items() if name.startswith("basin width"))
    np.testing.assert_allclose(width.error_y.array, [0.002, 0.001], rtol=1e-6)


def test_the_table_says_what_was_measured_where_with_its_error(run: Run) -> None:
    panel = basin_panel(run)
    assert panel is not None
    assert "<td>after firehose</td>" in panel.html
    assert "0.02 ± 0.002" in panel.html
    assert "3.5 ± 0.25" in panel.html
    assert "110 ± 2.2" in panel.html
    assert "nan" not in panel.html


def test_the_plane_has_the_first_direction_across_and_the_path_on_it(run: Run) -> None:
    panel = plane_panel(run)
    assert panel is not None
    contour, path, first, star = panel.figures[0].data

    np.testing.assert_allclose(contour.z[:, 2], 2 + 3 * np.linspace(-1, 1, 5) ** 2)
    np.testing.assert_allclose(np.stack([path.x, path.y], 1), [[1, 0.5], [0.5, 1], [0, 0]])
    assert (first.x[0], first.y[0], star.x[0], star.y[0]) == (1, 0.5, 0, 0)
    assert "80%" in panel.figures[0].layout.xaxis.title.text


def test_every_head_has_its_map_and_every_layer_its_overlaps(run: Run) -> None:
    maps, overlap = maps_panel(run), overlap_panel(run)
    assert maps is not None
    assert overlap is not None
    assert len(maps.figures[0].data) == 6
    assert len(overlap.figures[0].data) == 4
    assert "2.3  H 0.62" in {note.text for note in maps.figures[0].layout.annotations}
    assert "0.250 for two random ones" in overlap.how


@pytest.mark.parametrize("build", PANELS)
def test_nothing_is_drawn_where_nothing_was_measured(build, tmp_path: Path, synthetic: ModuleType) -> None:
    synthetic.empty_run(tmp_path / "bare", ["a"])
    assert build(open_run(tmp_path / "bare")) is None


def test_the_page_has_all_of_it(run: Run) -> None:
    text = page(run)
    assert all(f'data-spec="spec-{key}-0"' in text for key in ("basin", "plane", "heads", "overlap"))
