"""Barrier: one point, a bowl, a double well, and a model that is left alone."""

import math

import numpy as np
import pytest
import torch
from planted_wells import planted, quadratic, symmetric
from probed_models import CORPUS, SOURCES, fingerprint, small_model

from andrea_core.model.view import ModelView
from andrea_plugins.probes.barrier import Barrier, line_losses, risen


def test_between_the_wells_of_a_double_well_stands_a_barrier_of_one() -> None:
    objective = planted(torch.ones(1), lambda x: ((x**2 - 1) ** 2).sum())
    found = risen(line_losses(objective, np.array([-2.0]), 21))

    assert found["barrier"].value == pytest.approx(1)
    assert found["place"].value == 0.5


def test_the_barrier_is_above_the_line_between_unequal_ends() -> None:
    # (x^2 - 1)^2 + 3 x: the line between the ends takes the slope away.
    objective = planted(torch.ones(1), lambda x: ((x**2 - 1) ** 2 + 3 * x).sum())
    assert risen(line_losses(objective, np.array([-2.0]), 21))["barrier"].value == pytest.approx(1)


def test_a_bowl_has_no_barrier_and_neither_has_a_single_point() -> None:
    bowl = quadratic(symmetric(torch.linspace(0.1, 5, 20)), torch.ones(20))
    offset = np.random.default_rng(0).normal(size=20)
    losses = line_losses(bowl, offset, 11)

    assert losses[-1] == bowl.loss()
    assert losses[0] == pytest.approx(bowl.loss(torch.from_numpy(offset)), rel=1e-12)
    assert risen(losses)["barrier"].value == 0
    assert risen(line_losses(bowl, np.zeros(20), 11))["barrier"].value == 0


def test_a_line_that_leaves_the_numbers_is_nonfinite() -> None:
    found = risen(np.array([1.0, math.inf, 1.0]))
    assert {one.status for one in found.values()} == {"nonfinite"}


def test_the_probe_looks_back_to_its_last_look_and_leaves_the_model_bit_for_bit() -> None:
    model, other = small_model(), small_model(seed=1)
    probe = Barrier(points=5, tokens=48)
    first, state = probe.measure(probe.start(SOURCES), ModelView(other, CORPUS, 0), np.random.default_rng(0))  # type: ignore[arg-type]
    before, view = fingerprint(model), ModelView(model, CORPUS, 9)  # type: ignore[arg-type]
    found, state = probe.measure(state, view, np.random.default_rng(0))

    assert fingerprint(model) == before
    assert {one.status for one in first.values()} == {"missing"}
    windows = [view.windows(0, 16), view.windows(1, 16)]
    line = np.asarray(found["line_train"].value)
    assert line[-1] == view.objective(windows).loss()
    assert line[0] == pytest.approx(ModelView(other, CORPUS, 0).objective(windows).loss(), rel=1e-12)  # type: ignore[arg-type]
    chord = np.linspace(line[0], line[-1], 5)
    assert found["barrier_train"].value == pytest.approx(max(0, (line - chord).max()), abs=1e-12)
    assert found["barrier_heldout"].status == "ok"
