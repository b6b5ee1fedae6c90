"""The projections are what they say: orthogonal, fixed, and region shadows that hold every reachable point."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from andrea_core import Region
from andrea_core.report.projection import polygon, principal, region_of, shadow
from andrea_core.report.weights import corner_distance, effective_number

NAMES = [f"s{k}" for k in range(6)]


def walk(count: int = 40, sources: int = 6) -> np.ndarray:
    return np.random.default_rng(5).dirichlet(np.ones(sources), count)


def test_the_principal_plane_is_an_orthogonal_projection() -> None:
    plane = principal(walk())
    assert plane is not None
    assert plane.axes @ plane.axes.T == pytest.approx(np.eye(2))
    far = np.linalg.norm(walk()[:1] - walk()[1:], axis=1)
    shown = np.linalg.norm(plane.project(walk()[:1]) - plane.project(walk()[1:]), axis=1)
    assert (shown <= far + 1e-12).all()


def test_explained_variance_is_the_share_of_the_walks_variance() -> None:
    weights = walk()
    plane = principal(weights)
    assert plane is not None
    shown = plane.project(weights).var(axis=0) / weights.var(axis=0).sum()
    assert plane.explained == pytest.approx(shown)


def test_three_sources_lie_wholly_in_the_principal_plane() -> None:
    plane = principal(walk(sources=3))
    assert plane is not None
    assert plane.explained.sum() == pytest.approx(1)


def test_weights_that_never_move_have_no_principal_plane() -> None:
    assert principal(np.full((5, 4), 0.25)) is None
    assert principal(np.full((1, 4), 0.25)) is None


@pytest.mark.parametrize("count", [3, 4, 16, 40])
def test_the_polygon_puts_a_mix_at_its_centre_of_mass(count: int) -> None:
    plane, mix = polygon(count), walk(1, count)[0]
    assert plane.project(mix) == pytest.approx(mix @ plane.corners())
    assert np.linalg.norm(plane.corners(), axis=1) == pytest.approx(np.ones(count))
    assert plane.axes @ plane.axes.T == pytest.approx(count / 2 * np.eye(2))


@pytest.mark.parametrize("plane", [principal(walk()), polygon(6)])
def test_a_shadow_is_the_hull_of_the_projected_vertices(plane: object) -> None:
    region = Region.of(NAMES, floors={"s0": 0.4}, caps={"s1": 0.25, "s2": 0.3}, exclude=["s5"])
    outline = shadow(region, plane, 3600)  # type: ignore[arg-type]
    places = plane.project(region.vertices())  # type: ignore[attr-defined]
    hull = places[ConvexHull(places).vertices]
    gaps = np.linalg.norm(hull[:, None] - outline[None], axis=2).min(axis=1)
    assert gaps.max() < 1e-9
    assert (outline[0] == outline[-1]).all()


def test_a_shadow_holds_every_uniform_draw() -> None:
    region = Region.of(NAMES, floors={"s0": 0.4}, caps={"s1": 0.25})
    plane = polygon(6)
    hull = ConvexHull(shadow(region, plane))
    draws = plane.project(region.sample(np.random.default_rng(1), 500))
    assert (draws @ hull.equations[:, :2].T + hull.equations[:, 2] <= 2e-3).all()


def test_a_region_of_moving_bounds_covers_all_of_them() -> None:
    lower = np.array([[0.1, 0.0, 0.0], [0.3, 0.0, 0.0]])
    upper = np.array([[1.0, 0.2, 0.0], [1.0, 0.5, 0.0]])
    region = region_of(["x", "x", "y"], lower, upper)
    assert region is not None
    assert region.lower[0] == pytest.approx(0.5)  # the others hold at most 0.5, whatever the floor says
    assert list(region.upper) == [1.0, 0.5, 0.0]


def test_bounds_that_leave_nothing_make_no_region() -> None:
    assert region_of(["x", "y"], np.array([[0.7, 0.7]]), np.ones((1, 2))) is None


def test_parking_measures_are_exact_at_a_corner_and_at_the_centre() -> None:
    weights = np.array([[1.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0.0, 0.0]])
    assert effective_number(weights) == pytest.approx([1, 4, 2])
    assert corner_distance(weights) == pytest.approx([0, np.sqrt(0.75), np.sqrt(0.5)])
