"""Lanczos quadrature has the spectrum's moments within its errors, and is exact when the steps are as many as rows."""

import numpy as np
import pytest
import torch
from planted_curvature import rotated

from andrea_core.landscape.budget import Budget
from andrea_core.landscape.spectrum import lanczos_quadrature

SPECTRUM = np.array([-4.0, 30.0, *np.linspace(0, 2, 48)])


def quadrature(operator, size, vectors, steps, seed=0, budget=None):
    rng = np.random.default_rng(seed)
    like = torch.empty(size, dtype=torch.float64)
    return lanczos_quadrature(operator, like, vectors=vectors, steps=steps, budget=Budget(budget), rng=rng)


def test_a_full_run_has_exactly_the_eigenvalues():
    found = quadrature(rotated(SPECTRUM).mv, 50, 1, 50)

    np.testing.assert_allclose(np.sort(found.nodes), np.sort(SPECTRUM), atol=1e-9)
    assert found.weights.sum() == pytest.approx(1)


def test_each_vectors_moments_are_its_own_exact_ones():
    a = rotated(SPECTRUM)
    found = quadrature(a.mv, 50, 1, 4, seed=7)
    signs = torch.from_numpy(np.random.default_rng(7).integers(0, 2, 50, np.int8).astype(np.float64) * 2 - 1)
    powered = signs
    for power in range(8):  # 2 m - 1 = 7
        assert found.moment(power)[0] == pytest.approx(float(signs @ powered) / 50, rel=1e-9)
        powered = a @ powered


@pytest.mark.parametrize("vectors", [8, 32, 128])
def test_the_moments_converge_to_those_of_the_spectrum(vectors):
    found = quadrature(rotated(SPECTRUM).mv, 50, vectors, 12)
    for power in (1, 2):
        value, error = found.moment(power)
        assert abs(value - (SPECTRUM**power).mean()) < 4 * error
    assert found.moment(0)[0] == pytest.approx(1)


def test_the_density_integrates_to_one_and_brackets_the_spectrum():
    found = quadrature(rotated(SPECTRUM).mv, 50, 8, 30)
    grid = np.linspace(-10, 40, 4001)
    density = found.density(grid, width=0.3)

    assert np.trapezoid(density, grid) == pytest.approx(1, abs=1e-6)
    assert density.min() >= 0
    np.testing.assert_allclose([found.nodes.min(), found.nodes.max()], [-4, 30], atol=1e-8)
    assert density[(grid > 5) & (grid < 25)].max() < 1e-6


def test_quantiles_and_shares_are_those_of_the_eigenvalues():
    values = np.arange(1.0, 41.0)
    found = quadrature(torch.diag(torch.from_numpy(values)).mv, 40, 1, 40)

    np.testing.assert_allclose(found.quantiles(np.array([0.0, 0.5, 1.0])), [1.0, 20.0, 40.0], atol=1e-8)
    assert found.share(10.5, 20.5) == pytest.approx(0.25)


def test_the_decoders_spectrum_has_its_moments(language, dense):
    found = quadrature(language.hessian(), language.size, 40, 10)
    for power, exact in ((1, float(dense.trace())), (2, float((dense**2).sum()))):
        value, error = found.moment(power)
        assert abs(value - exact / language.size) < 4 * error


def test_an_identity_ends_after_one_step_and_a_budget_cuts_short():
    one = quadrature(lambda v: 3 * v, 20, 2, 10)
    assert (one.counts, one.status) == ((1, 1), "ok")
    np.testing.assert_allclose(one.nodes, 3)

    cut = quadrature(rotated(SPECTRUM).mv, 50, 3, 10, budget=14)
    assert (cut.counts, cut.status) == ((10, 4), "over_budget")
    assert cut.weights.sum() == pytest.approx(1)
    assert quadrature(lambda v: v / 0, 5, 2, 5).status == "nonfinite"
    assert quadrature(lambda v: v, 5, 2, 5, budget=0).nodes.size == 0
