"""Basin width: closed-form wells, walls steeper than the centre, floors, budgets, and a model that is left alone."""

import math

import numpy as np
import pytest
import torch
from planted_wells import planted, quadratic, symmetric
from probed_models import CORPUS, SOURCES, fingerprint, small_model

from andrea_core.landscape.objective import Objective
from andrea_core.model.view import ModelView
from andrea_plugins.probes.basin_width import BasinWidth, basin_width, scaled_trace, wall_ratio
from andrea_plugins.probes.perturbing import normal, seeds

SPECTRUM = torch.linspace(0.1, 30, 200)


def drawn(count: int, seed: int = 0) -> list[int]:
    return seeds(np.random.default_rng(seed), count)


def test_the_width_of_a_quadratic_well_is_exact_for_its_draws() -> None:
    # The mean rise over draws u is sigma^2 / 2 mean(u'Au), whatever the slope, since the pairs cancel it.
    matrix = symmetric(SPECTRUM)
    for point in (None, torch.ones(200)):
        objective = quadratic(matrix, point)
        forms = [float(u @ matrix @ u) for u in (normal(objective, seed) for seed in drawn(8))]
        found = basin_width(objective, 0.1, drawn(8), rounds=3, most_losses=10_000)

        assert found.value == pytest.approx(math.sqrt(0.2 / np.mean(forms)), rel=1e-9)
        assert found.error / found.value == pytest.approx(
            np.std(forms, ddof=1) / np.sqrt(8) / np.mean(forms) / 2, rel=1e-9
        )
        assert found.status == "ok"


def test_the_width_converges_to_the_closed_form_with_the_draws() -> None:
    # Relative sd of the mean of u'Au is sqrt(2 tr A^2 / draws) / tr A; half of that for the width.
    matrix = symmetric(SPECTRUM)
    expected = math.sqrt(0.2 / float(SPECTRUM.sum()))
    for count in (4, 16, 64, 256):
        spread = math.sqrt(2 * float((SPECTRUM**2).sum()) / count) / float(SPECTRUM.sum()) / 2
        errors = [
            basin_width(quadratic(matrix), 0.1, drawn(count, seed), 0, 10_000).value / expected - 1 for seed in range(4)
        ]
        assert np.sqrt(np.mean(np.square(errors))) < 2.5 * spread


def test_the_scaled_width_sees_each_parameter_in_proportion_to_itself() -> None:
    # c = |theta|: the trace is that of diag(c) A diag(c). Entries that are 0 do not move.
    curvature, point = torch.tensor([1.0, 4.0, 9.0, 1e6]).double(), torch.tensor([2.0, -1.0, 0.5, 0.0])
    objective = planted(point, lambda x: ((x - point.double()) ** 2 * curvature).sum() / 2)
    forms = []
    for seed in drawn(16):
        moved = normal(objective, seed) * point.abs().double()
        forms.append(float((moved**2 * curvature).sum()))
    found = basin_width(objective, 0.1, drawn(16), 3, 10_000, objective.point().abs())

    assert found.value == pytest.approx(math.sqrt(0.2 / np.mean(forms)), rel=1e-9)
    trace = scaled_trace(objective, 5, objective.point().abs(), np.random.default_rng(0))
    assert trace.value == pytest.approx(
        float((curvature * point**2).sum())
    )  # a diagonal matrix: every product is exact
    assert trace.error == pytest.approx(0, abs=1e-12)


def test_the_wall_ratio_is_one_in_a_quadratic_well() -> None:
    objective = quadratic(symmetric(SPECTRUM))
    found = basin_width(objective, 0.1, drawn(256), 2, 10_000)
    trace = scaled_trace(objective, 64, None, np.random.default_rng(1))

    assert abs(trace.value - float(SPECTRUM.sum())) < 4 * trace.error
    ratio = wall_ratio(found, 0.1, trace.value)
    assert ratio.status == "ok"
    assert float(ratio.value) == pytest.approx(1, abs=4 * (found.error / found.value + trace.error / trace.value / 2))


def test_the_traces_spread_is_the_one_of_hutchinson() -> None:
    matrix = symmetric(torch.linspace(-3, 7, 40))
    objective = quadratic(matrix)
    expected = 2 * float((matrix**2).sum() - (matrix.diagonal() ** 2).sum()) / 10
    found = [scaled_trace(objective, 10, None, np.random.default_rng(seed)).value for seed in range(300)]

    assert np.var(found) == pytest.approx(expected, rel=4 * math.sqrt(2 / 300))
    assert np.mean(found) == pytest.approx(80, abs=4 * math.sqrt(expected / 300))


def test_walls_that_rise_faster_than_the_centre_says_have_a_larger_ratio() -> None:
    # x^2 / 2 + 1000 x^4 in each of 50 directions: the mean rise is 50 (s^2 / 2 + 3000 s^4) for normal draws.
    objective = planted(torch.zeros(50), lambda x: (x**2 / 2 + 1000 * x**4).sum())
    found = basin_width(objective, 0.1, drawn(400), 6, 100_000)
    square = (-0.5 + math.sqrt(0.25 + 4 * 3000 * 0.1 / 50)) / 6000

    assert found.value == pytest.approx(math.sqrt(square), abs=5 * found.error)
    assert float(wall_ratio(found, 0.1, 50.0).value) > 2


def test_a_loss_that_never_rises_is_unbounded_and_a_flat_centre_says_so() -> None:
    flat = planted(torch.zeros(3), lambda x: 0 * x.sum() + 1)
    assert basin_width(flat, 0.1, drawn(2), 3, 10_000).status == "unbounded"

    quartic = planted(torch.zeros(3), lambda x: (x**4).sum())
    found = basin_width(quartic, 0.1, drawn(4), 3, 10_000)
    assert found.status == "ok"
    assert wall_ratio(found, 0.1, scaled_trace(quartic, 4, None, np.random.default_rng(0)).value).status == "flat_floor"
    assert wall_ratio(found, 0.1, -1.0).status == "missing"


def test_budgets_and_broken_losses_are_told() -> None:
    objective = quadratic(symmetric(SPECTRUM))
    assert basin_width(objective, 0.1, drawn(8), 3, 10).status == "over_budget"
    short = basin_width(objective, 0.1, drawn(8), 30, 100)
    assert (short.status, short.losses <= 100) == ("over_budget", True)
    assert short.value == pytest.approx(basin_width(objective, 0.1, drawn(8), 30, 10_000).value, rel=1e-6)
    assert basin_width(planted(torch.zeros(2), lambda x: x.sum() / 0), 0.1, drawn(2), 3, 99).status == "nonfinite"
    assert basin_width(quadratic(symmetric(SPECTRUM) * 1e30), 0.1, drawn(2), 3, 9999).status == "not_converged"


def test_a_loss_that_is_not_finite_far_off_is_a_wall() -> None:
    steep = planted(torch.zeros(2), lambda x: torch.where(x.abs().max() > 0.02, torch.nan, 0 * x.sum()))
    found = basin_width(steep, 0.1, drawn(4), 20, 10_000)

    largest = max(float(normal(steep, seed).abs().max()) for seed in drawn(4))
    assert found.value == pytest.approx(0.02 / largest, rel=1e-4)


@pytest.mark.parametrize("side", ["train", "heldout"])
def test_the_probe_measures_a_model_and_leaves_it_bit_for_bit(side: str) -> None:
    model = small_model()
    view, before = ModelView(model, CORPUS, 0), fingerprint(model)  # type: ignore[arg-type]
    probe = BasinWidth(scaled=True, draws=4, rounds=5, trace=2, tokens=48, side=side)
    found, _ = probe.measure(probe.start(SOURCES), view, np.random.default_rng(0))

    assert fingerprint(model) == before
    assert {f"{a}{b}{c}" for a in ("width", "wall") for b in ("", "_scaled") for c in ("", "_relative")} < set(found)
    assert 0 < found["width"].value < found["width_relative"].value
    assert found["products"].value == view.cost.products == 4


def test_both_tolerances_share_the_losses_that_they_need() -> None:
    objective = quadratic(symmetric(SPECTRUM), floor=1.0)
    found = BasinWidth(draws=4, rounds=2, trace=0, relative=0.1).widths(objective, np.random.default_rng(0))

    assert found["width"].value == found["width_relative"].value  # a tenth of a loss of 1 is 0.1 nats
    assert objective.cost.losses == 1 + 8 * 4  # two sizes around the width, and two halvings


def test_a_failure_on_the_way_leaves_the_model_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model()
    view, before, left = ModelView(model, CORPUS, 0), fingerprint(model), [7]  # type: ignore[arg-type]
    loss = Objective.loss

    def failing(self: Objective, *offset: torch.Tensor) -> float:
        left[0] -= 1
        if not left[0]:
            raise RuntimeError("no more")
        return loss(self, *offset)

    monkeypatch.setattr(Objective, "loss", failing)
    with pytest.raises(RuntimeError, match="no more"):
        BasinWidth(tokens=48).measure(None, view, np.random.default_rng(0))
    assert fingerprint(model) == before
