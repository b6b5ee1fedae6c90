"""Path: lines, random walks, bounces and circles with known answers; sketches that keep distances; checkpointable."""

import math

import numpy as np
import pytest
import torch
from probed_models import CORPUS, SOURCES, fingerprint, small_model

from andrea_core.model.view import ModelView
from andrea_plugins.probes.path import Path
from andrea_plugins.probes.path_geometry import cosine, principal_plane, sketch


def walk(points: np.ndarray, **settings: int) -> list[dict[str, float]]:
    """Follow points (T, n); return the numbers at each, NaN where there is none."""
    probe = Path(**settings)
    state, found = probe.start(SOURCES), []
    for step, point in enumerate(points):
        measured, state = probe.follow(state, point, 3 * step)
        found.append({key: float(one.value) for key, one in measured.items() if not one.axes})
    return found


def test_a_straight_line_is_straight() -> None:
    direction = np.random.default_rng(0).normal(size=50)
    direction /= np.linalg.norm(direction)
    found = walk(1 + np.outer([0, 1, 3, 6, 10], direction))

    assert set(found[0]) == {"norm", "exactly"}
    assert math.isnan(found[1]["turning"])
    assert [round(one["move"], 12) for one in found[1:]] == [1, 2, 3, 4]
    assert found[-1]["length"] == pytest.approx(10)
    assert found[-1]["displacement"] == pytest.approx(10)
    assert found[-1]["straightness"] == pytest.approx(1)
    assert found[-1]["turning"] == pytest.approx(1)
    assert found[-1]["move_a_step"] == pytest.approx(4 / 3)


def test_a_random_walk_gets_as_far_as_the_root_of_its_steps() -> None:
    # In many dimensions the moves are almost orthogonal and of equal length: D / P -> 1 / sqrt(T), turning -> 0.
    for steps in (16, 64, 256):
        moves = np.random.default_rng(steps).normal(size=(steps, 4000))
        found = walk(np.vstack([np.zeros(4000), np.cumsum(moves, 0)]))[-1]
        assert found["straightness"] * math.sqrt(steps) == pytest.approx(1, abs=0.1)
        assert abs(found["turning"]) < 5 / math.sqrt(4000)


def test_a_bounce_turns_back_and_a_circle_comes_home() -> None:
    assert walk(np.array([[0.0, 1], [1, 1], [0, 1], [1, 1]]))[-1]["turning"] == -1
    angles = np.linspace(0, 2 * np.pi, 61)
    circle = walk(np.column_stack([np.cos(angles), np.sin(angles)]))[-1]

    assert circle["displacement"] == pytest.approx(0, abs=1e-12)
    assert circle["straightness"] == pytest.approx(0, abs=1e-12)
    assert circle["turning"] == pytest.approx(math.cos(2 * math.pi / 60))


def test_standing_still_has_no_direction() -> None:
    found = walk(np.ones((3, 5)))[-1]
    assert found["move"] == 0
    assert math.isnan(found["straightness"])
    assert math.isnan(found["turning"])


def test_a_sketch_is_linear_and_keeps_lengths_and_products_without_bias() -> None:
    rng = np.random.default_rng(1)
    ratios, products = [], []
    for _ in range(400):
        one, other = rng.normal(size=(2, 3000))
        np.testing.assert_allclose(sketch(one + 2 * other, 64), sketch(one, 64) + 2 * sketch(other, 64), atol=1e-9)
        ratios.append((sketch(one, 64) ** 2).sum() / (one**2).sum())
        products.append(sketch(one, 64) @ sketch(other, 64) / math.sqrt((one**2).sum() * (other**2).sum()))

    assert np.mean(ratios) == pytest.approx(1, abs=4 * math.sqrt(2 / 64 / 400))
    assert np.var(ratios) == pytest.approx(2 / 64, rel=0.35)
    assert np.mean(products) == pytest.approx(0, abs=4 * math.sqrt(1 / 64 / 400))


def test_a_sketched_path_measures_as_the_exact_one_within_its_error() -> None:
    points = np.cumsum(np.random.default_rng(2).normal(size=(30, 5000)), 0)
    exact, small = walk(points, exact=10_000)[-1], walk(points, exact=100, sketch=2048)[-1]

    assert (exact["exactly"], small["exactly"]) == (1, 0)
    for name in ("move", "length", "displacement", "straightness"):
        assert small[name] == pytest.approx(exact[name], rel=5 / math.sqrt(2 * 2048))


def test_the_plane_of_a_planted_path_is_found() -> None:
    rng = np.random.default_rng(3)
    basis = np.linalg.qr(rng.normal(size=(100, 2)))[0].T
    places = rng.normal(size=(9, 2)) * [5, 1]
    directions, coordinates, shares = principal_plane(places @ basis + 7)

    np.testing.assert_allclose(directions @ directions.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(np.linalg.svd(directions @ basis.T)[1], 1, atol=1e-10)
    np.testing.assert_allclose(coordinates @ directions, (places - places[-1]) @ basis, atol=1e-10)
    assert shares.sum() == pytest.approx(1)
    assert shares[0] > shares[1] > 0


def test_a_path_on_a_line_has_one_direction_and_a_single_point_none() -> None:
    line = principal_plane(np.outer(np.arange(5.0), [3.0, 4.0, 0.0]))
    np.testing.assert_allclose(np.abs(line[0]), [[0.6, 0.8, 0], [0, 0, 0]], atol=1e-9)
    np.testing.assert_array_equal(principal_plane(np.ones((1, 3)))[0], np.zeros((2, 3)))


def test_a_cosine_without_length_is_missing() -> None:
    assert math.isnan(cosine(np.zeros(3), np.ones(3)))


def test_the_probe_follows_a_model_and_leaves_it_bit_for_bit() -> None:
    model = small_model()
    probe = Path(sketch=8, tokens=36)
    _, state = probe.measure(probe.start(SOURCES), ModelView(model, CORPUS, 0), np.random.default_rng(0))  # type: ignore[arg-type]
    slope = ModelView(model, CORPUS, 0).objective([ModelView(model, CORPUS, 0).windows(0, 12)])  # type: ignore[arg-type]
    step = slope.gradient() * -1e-4
    with torch.no_grad():
        for parameter, part in zip(model.parameters(), slope.split(step), strict=True):
            parameter += part
    before = fingerprint(model)
    found, state = probe.measure(state, ModelView(model, CORPUS, 5), np.random.default_rng(0))  # type: ignore[arg-type]

    assert fingerprint(model) == before
    assert found["move"].value == pytest.approx(float(step.norm()), rel=1e-9)
    assert found["move_a_step"].value == pytest.approx(float(step.norm()) / 5, rel=1e-9)
    assert found["displacement"].value == found["length"].value
    assert float(found["descent"].value) > 0.5
    assert found["turning"].status == "missing"
    assert state.looks == 2
