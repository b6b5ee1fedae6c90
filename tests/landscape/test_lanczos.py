"""Lanczos finds planted eigenvalues and the decoder's, agrees with ARPACK, stops in time and says when it did not."""

import numpy as np
import pytest
import torch
from planted_curvature import quadratic, rotated
from scipy.sparse.linalg import LinearOperator, eigsh

from andrea_core.landscape.budget import Budget
from andrea_core.landscape.lanczos import Lanczos, extreme_eigenpairs, inner, length, standard_normal


def pairs(operator, size, *, largest=1, smallest=True, tolerance=1e-10, budget=None, seed=0, dtype=torch.float64):
    rng = np.random.default_rng(seed)
    start = standard_normal(size, rng).to(dtype)
    return extreme_eigenpairs(
        operator,
        start,
        largest=largest,
        smallest=smallest,
        tolerance=tolerance,
        budget=Budget(budget),
        rng=rng,
    )


def test_planted_extremes_are_found_with_their_signs():
    spectrum = [-8.0, *np.linspace(0, 4, 197), 4.5, 5.0]
    hessian = quadratic(rotated(spectrum)).hessian()
    found = pairs(hessian, 200, largest=3)

    np.testing.assert_allclose(found.values, [5.0, 4.5, 4.0, -8.0], rtol=1e-9)
    assert (found.which, found.status) == ((0, 1, 2, -1), "ok")
    for value, vector in zip(found.values, found.vectors, strict=True):
        assert float((hessian(vector) - value * vector).norm()) < 1e-4


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-8])
def test_the_stated_errors_and_residuals_are_true(tolerance, language, dense):
    exact = torch.linalg.eigvalsh(dense).numpy()[::-1]
    hessian = language.hessian()
    for seed in range(3):
        found = pairs(hessian, language.size, largest=2, smallest=False, tolerance=tolerance, seed=seed)
        assert found.status == "ok"
        assert (np.abs(found.values - exact[:2]) <= tolerance * exact[0]).all()
        for value, vector, residual in zip(found.values, found.vectors, found.residuals, strict=True):
            assert float((hessian(vector) - value * vector).norm()) == pytest.approx(residual, rel=1e-3, abs=1e-10)


def test_the_decoders_extremes_are_those_of_the_dense_matrix(language, dense):
    exact = torch.linalg.eigvalsh(dense).numpy()
    found = pairs(language.hessian(), language.size, largest=5, tolerance=1e-9)

    assert exact[0] < 0
    np.testing.assert_allclose(found.values, [*exact[:-6:-1], exact[0]], rtol=1e-6)


def test_arpack_agrees(language):
    hessian = language.hessian()
    operator = LinearOperator(
        (language.size,) * 2, lambda v: hessian(torch.from_numpy(np.ravel(v))).numpy(), dtype=np.float64
    )
    start = np.random.default_rng(1).standard_normal(language.size)
    found = pairs(language.hessian(), language.size, largest=2, tolerance=1e-9)

    expected = eigsh(operator, k=2, which="LA", v0=start, tol=1e-9, return_eigenvectors=False)
    smallest = eigsh(operator, k=1, which="SA", v0=start, tol=1e-9, return_eigenvectors=False)
    np.testing.assert_allclose(found.values, [*expected[::-1], *smallest], rtol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_eigenvalue_costs_at_most_15_products(language, dense, seed):
    hessian = language.hessian()
    found = pairs(hessian, language.size, smallest=False, tolerance=2e-3, seed=seed)

    assert found.status == "ok"
    assert hessian.products <= 15
    assert found.values[0] == pytest.approx(float(torch.linalg.eigvalsh(dense)[-1]), rel=1e-3)


def test_a_spent_budget_is_said_and_the_best_known_returned(language, dense):
    hessian = language.hessian()
    found = pairs(hessian, language.size, budget=4, tolerance=1e-9)

    assert (found.status, hessian.products) == ("over_budget", 4)
    assert 0 < found.values[0] <= float(torch.linalg.eigvalsh(dense)[-1]) * (1 + 1e-12)
    assert pairs(hessian, language.size, budget=0).values.size == 0


def test_a_product_that_is_not_finite_is_said():
    found = pairs(lambda v: v * float("nan"), 9)

    assert (found.status, found.values.size) == ("nonfinite", 0)


def test_an_operator_of_low_rank_or_none_is_exact():
    low = rotated([3.0, -2.0, *[0.0] * 18])
    found = pairs(quadratic(low).hessian(), 20, largest=2, tolerance=1e-9)
    np.testing.assert_allclose(found.values, [3.0, 0.0, -2.0], atol=1e-9)

    flat = pairs(lambda v: torch.zeros_like(v), 5, largest=2)
    assert (flat.status, flat.values.tolist()) == ("ok", [0.0, 0.0, 0.0])


def test_more_pairs_than_there_are_give_all():
    found = pairs(quadratic(rotated([1.0, 2.0, 3.0])).hessian(), 3, largest=9)

    np.testing.assert_allclose(found.values, [3.0, 2.0, 1.0])
    assert (found.which, found.status) == ((0, 1, 2), "ok")


def test_the_basis_stays_orthonormal(language):
    process = Lanczos(language.hessian(), torch.ones(language.size, dtype=torch.float64), np.random.default_rng(0))
    for _ in range(60):
        process.extend()
    basis = process.combine(np.eye(60))

    assert float((basis @ basis.T - torch.eye(60, dtype=torch.float64)).abs().max()) < 1e-12


def test_two_close_eigenvalues_are_not_taken_for_one():
    # A mixture of both vectors has a residual of half their distance: 2 % here, and an error as large.
    spectrum = [10.0, 9.6, *np.linspace(-1, 1, 998)]
    for seed in range(5):
        found = pairs(lambda v: v * torch.tensor(spectrum).to(v), 1000, smallest=False, tolerance=1e-3, seed=seed)
        assert found.values[0] == pytest.approx(10, rel=1e-3)


def test_nothing_wanted_is_refused():
    with pytest.raises(ValueError, match="no eigenpair"):
        pairs(lambda v: v, 3, largest=0, smallest=False)


def test_lengths_in_float32_are_exact_at_any_size():
    vector = standard_normal(2_500_000, np.random.default_rng(0))
    other = standard_normal(2_500_000, np.random.default_rng(1))

    assert length(vector) == pytest.approx(float(vector.double().norm()), rel=1e-12)
    assert inner(vector, other) == pytest.approx(float(vector.double() @ other.double()), rel=1e-9)
    assert abs(float(vector.norm()) / length(vector) - 1) > 1e-6  # what PyTorch says of it


@pytest.mark.parametrize("size", [1_000, 300_000])
def test_a_symmetric_operator_in_float32_is_as_symmetric_at_every_size(size):
    diagonal = torch.linspace(-1, 1, size)
    diagonal[0], diagonal[-1] = -70, 110
    found = pairs(lambda vector: diagonal * vector, size, tolerance=1e-3, budget=20, dtype=torch.float32)

    assert found.asymmetry < 1e-6
    np.testing.assert_allclose(found.values, [110, -70], rtol=1e-3)


def test_asymmetry_of_the_size_of_a_wrong_layer_norm_is_seen_in_float32():
    # A rotation in two planes, two thousandths of the largest eigenvalue.
    diagonal = torch.linspace(-1, 1, 100_000)
    diagonal[0], diagonal[-1] = -70, 110

    def skewed(vector):
        return diagonal * vector + 0.2 * (vector.roll(1) - vector.roll(-1))

    assert pairs(skewed, 100_000, budget=12, dtype=torch.float32).asymmetry > 1e-4
