"""Slices: closed forms on wells, row norms, a centre to the bit, planes of a path, and a model that is left alone."""

import math

import numpy as np
import pytest
import torch
from planted_wells import planted, quadratic, symmetric
from probed_models import CORPUS, SOURCES, fingerprint, small_model

from andrea_core.model.view import ModelView
from andrea_plugins.probes.eigen_plane import sharpest_plane
from andrea_plugins.probes.perturbing import normal
from andrea_plugins.probes.slices import Slices, filter_normalised, line, plane

PLACES = np.linspace(-2, 2, 9)


def test_slices_of_a_quadratic_are_its_closed_form() -> None:
    matrix, point = symmetric(torch.linspace(-3, 8, 30)), torch.linspace(-1, 1, 30)
    objective = quadratic(matrix, point, floor=2.0)
    one, other = normal(objective, 0), normal(objective, 1)
    slope, base = objective.gradient(), objective.loss()
    rise = np.array([float(slope @ d) for d in (one, other)])
    form = np.array([[float(a @ matrix @ b) for b in (one, other)] for a in (one, other)])

    expected = base + PLACES * rise[0] + PLACES**2 * form[0, 0] / 2
    np.testing.assert_allclose(line(objective, one, PLACES).value, expected, rtol=1e-10)
    a, b = PLACES[:, None], PLACES[None, :]
    whole = expected[:, None] + b * rise[1] + b**2 * form[1, 1] / 2 + a * b * form[0, 1]
    found = plane(objective, one, other, PLACES)
    np.testing.assert_allclose(found.value, whole, rtol=1e-10, atol=1e-10)
    assert found.value[4, 4] == base  # type: ignore[index]


def test_rows_have_the_parameters_lengths_and_vectors_and_zero_rows_do_not_move() -> None:
    model = small_model(bias=True, tied_head=True)
    with torch.no_grad():
        model.blocks[0].mlp.up.weight[2] = 0
    view = ModelView(model, CORPUS, 0)  # type: ignore[arg-type]
    objective = view.objective([view.windows(0, 12)])
    direction = filter_normalised(objective, normal(objective, 3))
    assert sum("tokens" in name or "head" in name for name in objective.names) == 1  # tied rows move together
    for name, leaf, piece in zip(objective.names, objective.leaves, objective.split(direction), strict=True):
        expected = leaf.detach().norm(dim=1) if leaf.ndim > 1 else torch.zeros(())
        found = piece.norm(dim=1) if leaf.ndim > 1 else piece.abs().max()
        torch.testing.assert_close(found, expected.to(found), msg=name)


def test_cells_that_are_not_finite_are_kept_and_told() -> None:
    objective = planted(torch.zeros(1), lambda x: torch.where(x > 1, torch.inf, x**2).sum())
    found = line(objective, torch.ones(1).double(), PLACES)
    assert found.status == "nonfinite"
    assert np.isinf(np.asarray(found.value)).sum() == 2


def test_random_slices_are_the_same_directions_at_every_look_and_leave_the_model_bit_for_bit() -> None:
    model = small_model()
    view, before = ModelView(model, CORPUS, 0), fingerprint(model)  # type: ignore[arg-type]
    probe = Slices(points=5, tokens=24, span=0.5)
    found, state = probe.measure(probe.start(SOURCES), view, np.random.default_rng(0))
    again, _ = probe.measure(state, view, np.random.default_rng(99))

    assert fingerprint(model) == before
    for name in ("line", "plane", "places"):
        np.testing.assert_array_equal(found[name].value, again[name].value)
    assert np.asarray(found["plane"].value)[2, 2] == np.asarray(found["line"].value)[2]
    np.testing.assert_array_equal(np.asarray(found["plane"].value)[:, 2], found["line"].value)
    assert found["nonfinite"].value == 0


def moved(model: torch.nn.Module, step: float) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += step


def test_the_line_to_the_last_look_ends_there() -> None:
    model = small_model()
    view = ModelView(model, CORPUS, 0)  # type: ignore[arg-type]
    probe = Slices(points=3, tokens=24, directions="last", plane=False)
    first, state = probe.measure(probe.start(SOURCES), view, np.random.default_rng(0))
    was = view.objective([view.windows(0, 8), view.windows(1, 8)]).loss()
    moved(model, 0.01)
    found, _ = probe.measure(state, view, np.random.default_rng(0))

    assert first["nonfinite"].status == "missing"
    assert np.asarray(found["line"].value)[2] == pytest.approx(was, rel=1e-12)


def test_a_planted_path_lies_in_its_plane() -> None:
    model = small_model()
    view = ModelView(model, CORPUS, 0)  # type: ignore[arg-type]
    probe = Slices(points=3, tokens=24, directions="path", keep=4)
    state, losses = probe.start(SOURCES), []
    for _ in range(4):
        losses.append(view.objective([view.windows(0, 8), view.windows(1, 8)]).loss())
        found, state = probe.measure(state, view, np.random.default_rng(0))
        moved(model, 0.02)
    path, shares = np.asarray(found["path"].value), np.asarray(found["shares"].value)

    np.testing.assert_allclose(shares, [1, 0], atol=1e-9)
    np.testing.assert_allclose(np.abs(path[:4, 0]), [1, 2 / 3, 1 / 3, 0], atol=1e-9)
    assert np.isnan(path[4]).all()
    assert losses[0] == pytest.approx(np.asarray(found["line"].value)[0 if path[0, 0] < 0 else 2], rel=1e-9)


def test_a_long_trail_is_thinned_and_a_grid_without_its_centre_refused() -> None:
    model = small_model()
    view = ModelView(model, CORPUS, 0)  # type: ignore[arg-type]
    probe, state = Slices(points=3, tokens=1, directions="path", keep=3, plane=False), Slices().start(SOURCES)
    for look in range(12):
        _, state = probe.measure(state, view, np.random.default_rng(look))
        assert len(state.points) <= 3
    assert (state.looks, state.stride) == (12, 4)
    with pytest.raises(ValueError, match="must be odd"):
        Slices(points=4)
    assert math.isfinite(float(state.points.sum()))


def test_the_sharpest_plane_of_a_quadratic_rises_by_the_square_of_the_place() -> None:
    # At a minimum f(a, b) = L + a^2 + b^2 along sqrt(2 / lambda) v, whatever the two eigenvalues are.
    objective = quadratic(symmetric(torch.tensor([9.0, 4.0, 1.0, 0.5, 0.1, 0.0, -0.2])), floor=2.0)
    chosen = sharpest_plane(objective, 40, np.random.default_rng(0))
    assert chosen is not None
    one, other, more = chosen
    places = np.linspace(-1, 1, 5)

    np.testing.assert_allclose(more["eigenvalues"].value, [9, 4], atol=0.09)  # the residual, a hundredth of 9
    assert more["eigenvalues"].status == "ok"
    expected = 2 + places[:, None] ** 2 + places[None, :] ** 2
    np.testing.assert_allclose(plane(objective, one, other, places).value, expected, atol=0.04)


def test_a_plane_of_eigenvectors_that_were_not_found_says_so() -> None:
    objective = quadratic(symmetric(torch.linspace(-3, 8, 30)))
    chosen = sharpest_plane(objective, 2, np.random.default_rng(0))

    assert chosen is not None
    assert chosen[2]["eigenvalues"].status == "over_budget"
    assert chosen[2]["products"].value == objective.cost.products == 2
    broken = planted(torch.ones(3), lambda x: (x**2).sum() / 0)
    assert sharpest_plane(broken, 5, np.random.default_rng(0)) is None
