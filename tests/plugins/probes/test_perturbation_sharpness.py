"""Perturbation sharpness: closed forms on slopes and wells, zero parameters, and a model that is left alone."""

import math

import numpy as np
import pytest
import torch
from planted_wells import linear, planted, quadratic, symmetric
from probed_models import CORPUS, SOURCES, fingerprint, small_model

from andrea_core.model.view import ModelView
from andrea_plugins.probes import perturbation_sharpness as module
from andrea_plugins.probes.ascent import checkpoints, worst_rise
from andrea_plugins.probes.perturbation_sharpness import PerturbationSharpness, sam_rise
from andrea_plugins.probes.perturbing import antithetic_rises, normal, seeds

SLOPE = torch.tensor([3.0, -4.0, 0.5, 0.0]).double()
POINT = torch.tensor([1.0, -2.0, 0.0, 5.0]).double()
ONES = torch.ones(4).double()


@pytest.mark.parametrize("scale", [ONES, POINT.abs()], ids=["standard", "adaptive"])
def test_on_a_slope_every_rise_has_its_closed_form(scale: torch.Tensor) -> None:
    # max g'(c z) is rho |c g|_2 over the ball and rho |c g|_1 over the box; SAM's step reaches the former.
    objective, scaled = linear(SLOPE, POINT), SLOPE * scale

    assert sam_rise(objective, scale, 0.05) == pytest.approx(0.05 * float(scaled.norm()), rel=1e-12)
    assert worst_rise(objective, scale, 0.05, 2.0, 5, 0)[0] == pytest.approx(0.05 * float(scaled.norm()), rel=1e-12)
    assert worst_rise(objective, scale, 0.01, math.inf, 5, 0)[0] == pytest.approx(0.01 * float(scaled.abs().sum()))
    rises = antithetic_rises(objective, objective.loss(), list(range(5)), 0.3, scale)
    np.testing.assert_allclose(rises, 0, atol=1e-12)


def test_at_a_minimum_the_worst_case_goes_along_the_largest_eigenvalue() -> None:
    spectrum = torch.tensor([*torch.linspace(0, 5, 49).tolist(), 8.0])
    objective, ones = quadratic(symmetric(spectrum)), torch.ones(50).double()

    errors = [1 - worst_rise(objective, ones, 0.1, 2.0, steps, 1)[0] / (0.01 * 8 / 2) for steps in (5, 20, 80)]
    assert errors == sorted(errors, reverse=True)
    assert 0 <= errors[-1] + 1e-12 < 1e-6
    assert errors[1] < 0.02


def test_at_a_minimum_the_worst_corner_of_a_box_is_found() -> None:
    # For a matrix of positive entries the box's worst point is a corner of equal signs: box^2 / 2 sum A.
    matrix = torch.ones(7, 7).double() + torch.eye(7).double() / 2

    assert worst_rise(quadratic(matrix), torch.ones(7).double(), 0.1, math.inf, 30, 3)[0] == pytest.approx(
        0.01 / 2 * float(matrix.sum())
    )


def test_the_average_rise_converges_to_half_the_trace() -> None:
    spectrum = torch.linspace(-1, 4, 60)
    objective, expected = quadratic(symmetric(spectrum)), 0.01 / 2 * float(spectrum.sum())
    for count in (10, 100, 1000):
        rises = antithetic_rises(objective, objective.loss(), seeds(np.random.default_rng(1), count), 0.1, None)
        spread = 0.01 / 2 * math.sqrt(2 * float((spectrum**2).sum()) / count)
        assert abs(rises.mean() - expected) < 4 * spread


def test_the_adaptive_average_is_half_the_scaled_trace() -> None:
    curvature = torch.tensor([5.0, 1.0, 2.0, 9.0]).double()
    objective = planted(POINT, lambda x: ((x - POINT) ** 2 * curvature).sum() / 2)
    rises = antithetic_rises(objective, 0.0, list(range(2000)), 0.1, POINT.abs())
    parts = 0.01 / 2 * curvature * POINT**2

    assert rises.mean() == pytest.approx(float(parts.sum()), abs=4 * math.sqrt(2 * float((parts**2).sum()) / 2000))


def test_parameters_that_are_zero_do_not_move_and_give_no_nan() -> None:
    seen = []

    def loss(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.detach().clone())
        return (x * SLOPE).sum() + (x**2).sum()

    objective = planted(POINT, loss)
    rise, _ = worst_rise(objective, POINT.abs(), 0.5, 2.0, 10, 0)
    assert math.isfinite(rise)
    assert all(float(x[2]) == 0 for x in seen)
    assert sam_rise(planted(torch.zeros(3), lambda x: (x**2).sum()), torch.zeros(3).double(), 0.5) == 0


def test_checkpoints_shrink_from_22_to_6_percent_of_the_steps() -> None:
    assert sorted(checkpoints(100))[:4] == [22, 41, 57, 70]
    assert max(checkpoints(7)) <= 7


def test_the_mean_is_over_batches_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    whole = PerturbationSharpness.rises

    def spied(self, objective, rng):  # type: ignore[no-untyped-def]
        sizes.append(objective.count)
        return whole(self, objective, rng)

    monkeypatch.setattr(module.PerturbationSharpness, "rises", spied)
    view = ModelView(small_model(), CORPUS, 0)  # type: ignore[arg-type]
    probe = PerturbationSharpness(batches=3, rows=2, ascent=1, draws=1)
    found, _ = probe.measure(None, view, np.random.default_rng(0))

    assert sizes == [12 + 9, 12]  # a window of each source, then what is left
    assert found["average_error"].status == "missing"


def test_the_probe_measures_a_model_and_leaves_it_bit_for_bit_also_when_it_raises(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = small_model()
    view, before = ModelView(model, CORPUS, 0), fingerprint(model)  # type: ignore[arg-type]
    probe = PerturbationSharpness(rows=2, ascent=3, draws=2, rho=1e-3)
    found, _ = probe.measure(probe.start(SOURCES), view, np.random.default_rng(0))

    assert fingerprint(model) == before
    slope = float(view.objective([view.windows(0, 1), view.windows(1, 1)]).gradient().norm())
    assert float(found["sam"].value) == pytest.approx(1e-3 * slope, rel=0.2)
    assert float(found["worst"].value) >= float(found["sam"].value) * (1 - 1e-9)

    def failing(*_: object) -> float:
        raise RuntimeError("no more")

    monkeypatch.setattr(module, "worst_rise", failing)
    with pytest.raises(RuntimeError, match="no more"):
        probe.measure(None, view, np.random.default_rng(0))
    assert fingerprint(model) == before


def test_directions_are_standard_normal() -> None:
    many = torch.cat([normal(planted(torch.zeros(1000), lambda x: x.sum()), seed) for seed in range(20)])
    assert float(many.mean()) == pytest.approx(0, abs=4 / math.sqrt(20_000))
    assert float(many.var()) == pytest.approx(1, abs=4 * math.sqrt(2 / 20_000))
