"""Trace estimators converge to the exact trace, by block too, with errors that say how far off they are."""

import numpy as np
import pytest
import torch
from planted_curvature import quadratic, rotated

from andrea_core.landscape.budget import Budget
from andrea_core.landscape.objective import block_of
from andrea_core.landscape.trace import block_rows, hutch_plus_plus, hutchinson, rademacher

SPECTRUM = [-4.0, 30.0, *np.linspace(0, 2, 58)]


def matrix():
    return rotated(SPECTRUM, seed=3)


def like(size):
    return torch.empty(size, dtype=torch.float64)


def many(estimator, repeats=200):
    return np.array([estimator(np.random.default_rng(seed)) for seed in range(repeats)])


def test_signs_are_signs_and_balanced():
    signs = rademacher(10_000, np.random.default_rng(0))

    assert set(signs.tolist()) == {-1.0, 1.0}
    assert abs(float(signs.mean())) < 0.05


@pytest.mark.parametrize("draws", [4, 16, 64])
def test_hutchinson_converges_with_the_known_variance(draws):
    a = matrix()

    def value(rng):
        return hutchinson(a.mv, like(60), {}, draws, Budget(), rng)[0].value

    found = many(value)
    variance = 2 * float((a**2).sum() - (a.diagonal() ** 2).sum()) / draws
    assert abs(found.mean() - sum(SPECTRUM)) < 4 * (variance / len(found)) ** 0.5
    # The variance of 200 draws has a relative standard deviation of about sqrt(2 / 199), a tenth.
    assert found.var(ddof=1) == pytest.approx(variance, rel=0.4)


def test_the_stated_standard_error_covers_the_truth_as_often_as_it_should():
    a = matrix()
    inside = 0
    for seed in range(200):
        found, _ = hutchinson(a.mv, like(60), {}, 30, Budget(), np.random.default_rng(seed))
        inside += abs(found.value - sum(SPECTRUM)) <= 2 * found.error
    assert 180 <= inside <= 200


def test_the_traces_of_blocks_converge_to_theirs_and_add_up():
    a = matrix()
    objective = quadratic(a)
    blocks = block_rows(objective.slices(), {name: name for name in objective.names})
    total, parts = hutchinson(objective.hessian(), like(60), blocks, 3000, Budget(), np.random.default_rng(0))

    for name, rows in {"first": slice(0, 30), "second": slice(30, 60)}.items():
        assert abs(parts[name].value - float(a.diagonal()[rows].sum())) < 4 * parts[name].error
    assert sum(part.value for part in parts.values()) == pytest.approx(total.value)


def test_the_decoders_trace_is_within_its_error(language, dense):
    blocks = block_rows(language.slices(), {name: block_of(name) for name in language.names})
    total, parts = hutchinson(language.hessian(), like(language.size), blocks, 400, Budget(), np.random.default_rng(1))

    assert abs(total.value - float(dense.trace())) < 4 * total.error
    for name, rows in blocks.items():
        exact = sum(float(dense.diagonal()[place].sum()) for place in rows)
        assert abs(parts[name].value - exact) < 4 * parts[name].error
    assert {"tokens", "blocks_0_attention", "blocks_0_mlp", "norm"} <= set(parts)


@pytest.mark.parametrize("draws", [9, 30])
def test_hutch_plus_plus_converges_and_beats_hutchinson_where_few_eigenvalues_matter(draws):
    a = rotated([100.0, -40.0, 20.0, *[0.1] * 57], seed=4)
    exact = 80 + 5.7

    found = many(lambda rng: hutch_plus_plus(a.mv, like(60), draws, Budget(), rng).value)
    plain = many(lambda rng: hutchinson(a.mv, like(60), {}, draws, Budget(), rng)[0].value)

    assert abs(found.mean() - exact) < 4 * found.std(ddof=1) / len(found) ** 0.5 + 1e-9
    assert found.std() < plain.std() / 5


def test_hutch_plus_plus_is_exact_for_a_rank_that_it_catches():
    a = rotated([5.0, -3.0, *[0.0] * 38], seed=5)
    found = hutch_plus_plus(a.mv, like(40), 12, Budget(), np.random.default_rng(0))

    assert found.value == pytest.approx(2.0, abs=1e-10)
    assert found.error < 1e-10


def test_budgets_and_infinities_are_said():
    found, _ = hutchinson(matrix().mv, like(60), {}, 10, Budget(3), np.random.default_rng(0))
    assert (found.samples, found.status) == (3, "over_budget")

    bad, parts = hutchinson(lambda v: v / 0, like(4), {"all": [slice(0, 4)]}, 10, Budget(), np.random.default_rng(0))
    assert (bad.status, parts["all"].status) == ("nonfinite", "nonfinite")
    assert np.isnan(bad.value)
    for products in (1, 5):
        short = hutch_plus_plus(matrix().mv, like(60), 12, Budget(products), np.random.default_rng(0))
        assert short.status == "over_budget"
    assert hutch_plus_plus(lambda v: v / 0, like(4), 3, Budget(), np.random.default_rng(0)).status == "nonfinite"
