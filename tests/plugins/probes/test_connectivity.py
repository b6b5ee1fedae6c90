"""Connectivity: a ring, a bowl and a double well in closed form, and a model that is left alone."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from planted_wells import planted, quadratic, symmetric
from probed_models import CORPUS, SOURCES, fingerprint, small_model
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from andrea_core.model.view import ModelView
from andrea_plugins.probes.connectivity import Connectivity, place

SLOPE = 0.1


def ring(x: torch.Tensor) -> torch.Tensor:
    """A valley along the unit circle, tilted so that its lower half lies deeper."""
    return ((x**2).sum() - 1) ** 2 + SLOPE * x[1]


def ring_loss(t: float, height: float) -> float:
    """The ring's loss on the curve from (-1, 0) to (1, 0) whose middle point is (0, height)."""
    y = 2 * t * (1 - t) * height
    return ((2 * t - 1) ** 2 + y**2 - 1) ** 2 + SLOPE * y


def bent(objective: object, chord: np.ndarray, **settings: float) -> np.ndarray:
    probe = Connectivity(**settings)  # type: ignore[arg-type]
    return probe.bent(itertools.repeat(objective), chord, np.random.default_rng(0))  # type: ignore[arg-type]


def highest(objective: object, chord: np.ndarray, bend: np.ndarray) -> float:
    losses = [objective.loss(torch.from_numpy(place(chord, bend, t))) for t in np.linspace(0, 1, 101)]  # type: ignore[attr-defined]
    return max(losses)


@pytest.mark.parametrize(("steps", "within"), [(400, 0.1), (6000, 0.02)])
def test_the_curve_along_a_ring_comes_closer_to_the_best_one_with_more_steps(steps: int, within: float) -> None:
    objective, chord = planted(torch.tensor([1.0, 0.0]), ring), np.array([-2.0, 0.0])
    best = minimize_scalar(lambda height: quad(ring_loss, 0, 1, args=(height,))[0], bounds=(-4, 0), method="bounded").x
    bend = bent(objective, chord, steps=steps, rate=0.05)

    np.testing.assert_allclose(bend, [0, best], atol=within)
    assert highest(objective, chord, np.zeros(2)) == pytest.approx(1)
    assert highest(objective, chord, bend) < 0.15


def test_over_a_bowl_the_middle_goes_to_where_algebra_puts_it() -> None:
    # d/dc of the integral of L(phi) is H (s / 12 + d / 15) for x'Hx / 2, with s the sum of the ends: d = -5 s / 4.
    end = torch.linspace(0.5, 2, 6).double()
    bowl, chord = quadratic(symmetric(torch.linspace(1, 3, 6)), end), np.linspace(1, -1, 6)
    bend = bent(bowl, chord, steps=6000, rate=0.1)

    np.testing.assert_allclose(bend, -1.25 * (2 * end.numpy() + chord), atol=0.1)


@given(st.integers(0, 2**32), st.floats(0.1, 2))
def test_the_mean_loss_on_the_curve_is_below_that_on_the_line(seed: int, tilt: float) -> None:
    rng = np.random.default_rng(seed)
    ends = rng.normal(size=(2, 3))

    def wells(x: torch.Tensor) -> torch.Tensor:
        return ((x[:2] ** 2).sum() - 1) ** 2 + tilt * x[1] + x[2] ** 2

    objective, chord = planted(torch.from_numpy(ends[1]), wells), ends[0] - ends[1]
    bend = bent(objective, chord, steps=200, rate=0.1)

    def mean(middle: np.ndarray) -> float:
        t = np.linspace(0, 1, 21)
        return float(np.mean([objective.loss(torch.from_numpy(place(chord, middle, one))) for one in t]))

    assert mean(bend) <= mean(np.zeros(3)) + 1e-6


def test_between_equal_points_there_is_nothing_to_bend() -> None:
    bowl = quadratic(symmetric(torch.linspace(1, 3, 6)), torch.ones(6))
    assert np.abs(bent(bowl, np.zeros(6), steps=20)).max() < 1e-25


def test_a_curve_begins_and_ends_where_it_must() -> None:
    chord, bend = np.array([3.0, -1.0]), np.array([5.0, 7.0])

    np.testing.assert_array_equal(place(chord, bend, 0.0), chord)
    np.testing.assert_array_equal(place(chord, bend, 1.0), [0, 0])
    np.testing.assert_array_equal(place(chord, bend, 0.5), (chord + bend) / 2)


def test_the_probe_looks_back_to_its_last_look_and_leaves_the_model_bit_for_bit() -> None:
    model, other = small_model(), small_model(seed=1)
    probe = Connectivity(points=5, steps=12, batch=48, tokens=48)
    first, state = probe.measure(probe.start(SOURCES), ModelView(other, CORPUS, 0), np.random.default_rng(0))  # type: ignore[arg-type]
    before, view = fingerprint(model), ModelView(model, CORPUS, 9)  # type: ignore[arg-type]
    found, _ = probe.measure(state, view, np.random.default_rng(0))

    assert fingerprint(model) == before
    assert (view.cost.gradients, view.cost.losses) == (12, 20)
    assert {one.status for one in first.values()} == {"missing"}
    assert {one.status for one in found.values()} == {"ok"}
    assert set(probe.measures) | set(probe.arrays) == set(found)
    windows = [view.windows(0, 16), view.windows(1, 16)]
    line = np.asarray(found["line_train"].value)
    assert line[-1] == view.objective(windows).loss()
    assert line[0] == pytest.approx(ModelView(other, CORPUS, 0).objective(windows).loss(), rel=1e-12)  # type: ignore[arg-type]
    assert found["barrier_train"].value == pytest.approx(max(0, (line - np.linspace(line[0], line[-1], 5)).max()))
    assert found["gain_train"].value > 0


def test_parameters_that_are_no_numbers_give_no_number_that_is_called_ok() -> None:
    model = small_model()
    probe = Connectivity(points=3, steps=2, batch=16, tokens=16)
    view = ModelView(model, CORPUS, 9)  # type: ignore[arg-type]
    size = sum(parameter.numel() for parameter in model.parameters())
    found, _ = probe.measure(np.full(size, math.nan), view, np.random.default_rng(0))

    assert {one.status for one in found.values()} == {"nonfinite"}
