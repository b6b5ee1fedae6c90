"""The critical step of a quadratic is the closed form; falls for ever and rises from the start are said."""

import math

import pytest
import torch
from planted_curvature import quadratic, rotated

from andrea_core.landscape.budget import Budget
from andrea_core.landscape.critical import crossing


def along(objective, direction):
    return lambda scale: objective.loss(scale * direction)


@pytest.mark.parametrize("rate", [1e-4, 0.03, 0.9, 40.0])
def test_on_a_quadratic_it_is_the_curvature_along_the_gradient_in_few_forwards(rate):
    a = rotated([-2.0, 50.0, *range(1, 19)])
    objective = quadratic(a, at=torch.ones(20, dtype=torch.float64))
    gradient = objective.gradient()
    budget = Budget(30)
    found = crossing(along(objective, -rate * gradient), tolerance=1e-9, furthest=2.0**20, budget=budget)

    exact = float(gradient @ a @ gradient / (gradient @ gradient))
    assert found.status == "ok"
    assert 2 / (found.scale * rate) == pytest.approx(exact, rel=1e-8)
    assert budget.spent <= 5 + abs(math.log2(2 / exact / rate))


def test_on_a_quartic_it_is_the_first_return():
    found = crossing(lambda s: (s - 0.4) ** 4, tolerance=1e-6, furthest=100, budget=Budget(40))

    assert found.scale == pytest.approx(0.8, rel=1e-5)
    assert found.status == "ok"


@pytest.mark.parametrize(
    ("line", "budget", "status"),
    [
        (lambda s: -s, 40, "unbounded"),
        (lambda s: 1 + s, 40, "undetermined"),
        (lambda s: 3.0, 40, "undetermined"),
        (lambda s: (s - 9) ** 2, 3, "over_budget"),
        (lambda s: (s - 9) ** 2, 0, "over_budget"),
        (lambda s: (s - 9.3) ** 4, 7, "over_budget"),
        (lambda s: math.nan, 40, "nonfinite"),
        (lambda s: 1 - s if s < 2.5 else math.nan, 40, "nonfinite"),
    ],
)
def test_what_has_no_crossing_is_said(line, budget, status):
    assert crossing(line, tolerance=1e-6, furthest=1000, budget=Budget(budget)).status == status


def test_a_loss_that_overflows_far_out_still_has_a_crossing():
    def line(scale):
        return (scale - 0.3) ** 2 if scale < 0.9 else math.inf

    assert crossing(line, tolerance=1e-6, furthest=1000, budget=Budget(40)).scale == pytest.approx(0.6, rel=1e-5)
