"""Names of pure sources: as many as have room, never over one another, and every one on hover."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from andrea_core.report.corners import BUSY, FEW, extent, placed, pure_sources
from andrea_core.report.projection import polygon
from andrea_core.report.walk import walk_panel
from andrea_core.runs.store import Run

NOWHERE = np.empty((0, 2))


def cloud(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, 2))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("count", [2, 16, 60])
def test_no_name_overlaps_another_name_or_another_cross(count: int, seed: int) -> None:
    corners = cloud(count, seed)
    labels = placed(corners, [f"source-{k}" for k in range(count)], NOWHERE)
    boxes = list(labels.boxes(corners))
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    for k, (left, low, right, high) in zip(labels.shown, boxes, strict=True):
        others = np.delete(corners, k, axis=0)
        assert not ((others > [left, low]) & (others < [right, high])).all(axis=1).any()


def test_sixteen_corners_of_a_polygon_are_all_named() -> None:
    names = [f"hermes3-roleplay{k % 10}" for k in range(16)]
    labels = placed(polygon(16).corners(), names, NOWHERE)
    assert [labels.shown[k] for k in range(16)] == names


def test_a_scattered_plane_names_most_and_a_heap_names_its_outer_ones() -> None:
    names = [f"source-{k}" for k in range(16)]
    assert len(placed(cloud(16, 3), names, NOWHERE).shown) >= 12
    heap = np.concatenate([[[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]], 1e-3 * cloud(13, 1)])
    shown = placed(heap, names, NOWHERE).shown
    assert {0, 1, 2} <= set(shown)
    assert len(shown) < 16


def test_a_name_gives_way_where_the_walk_is_dense() -> None:
    corners = np.concatenate([[[0.0, 0.0]], polygon(FEW).corners()])
    names, everyone = ["a" * 5] * (FEW + 1), set(range(FEW + 1))
    around = 0.05 * cloud(500, 0)
    assert set(placed(corners, names, NOWHERE).shown) == everyone
    assert set(placed(corners, names, around).shown) == everyone - {0}
    assert set(placed(corners, names, around[:BUSY]).shown) == everyone


def test_of_a_few_sources_each_has_its_name_over_the_walk_if_need_be() -> None:
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert set(placed(corners, ["a" * 9] * 3, 0.05 * cloud(500, 0)).shown) == {0, 1, 2}


def test_start_and_end_stand_where_no_name_does() -> None:
    corners = polygon(3).corners()
    top = int(corners[:, 1].argmax())
    labels = placed(corners, ["birds", "ships", "cars"], NOWHERE)
    assert labels.beside(corners[top], corners, "top") == "bottom center"
    assert labels.beside(np.zeros(2), corners, "top") == "top center"


def test_the_axes_hold_every_name_and_every_cross() -> None:
    corners = cloud(16, 2)
    labels = placed(corners, [f"source-{k}" for k in range(16)], NOWHERE)
    low, high = extent(corners, labels)
    assert (corners > low).all()
    assert (corners < high).all()
    assert all(box[0] >= low[0] and box[1] >= low[1] and box[2] <= high[0] for box in labels.boxes(corners))


def test_every_cross_says_its_source_on_hover_and_only_named_ones_carry_text() -> None:
    corners, names = np.append(1e-3 * cloud(15, 1), [[1.0, 1.0]], axis=0), [*"abcdefghijklmno", "b<c"]
    trace = pure_sources(corners, names, placed(corners, names, NOWHERE))
    assert list(trace.hovertext) == [*(f"only {name}" for name in names[:-1]), "only b&lt;c"]
    assert 1 < sum(bool(text) for text in trace.text) < 16
    assert trace.text[-1] == "b&lt;c"


def test_the_caption_points_to_the_hover_where_a_name_is_missing(run_of: Callable[[str], Run]) -> None:
    for shape in ("full", "forty", "two"):
        for figure in walk_panel(run_of(shape)).figures:  # type: ignore[union-attr]
            crosses = next(t for t in figure.data if t.hovertext is not None and "only" in t.hovertext[0])
            missing = any(not text for text in crosses.text)
            assert figure.layout.meta["caption"].endswith("hover over a cross names its source") == missing
