"""The phase lengths uniform and fixed."""

import numpy as np
import pytest

from andrea_core.testing.worlds import make_context, make_sources
from andrea_plugins.phases import Fixed, Uniform

CONTEXT = make_context(make_sources(("a", "b")), 0, np.random.default_rng(0))


def test_uniform_draws_every_length_from_7_to_42_about_equally_often():
    rng = np.random.default_rng(0)
    counts = np.bincount([Uniform().length(CONTEXT, rng) for _ in range(36_000)], minlength=43)

    assert counts[:7].sum() == 0
    assert len(counts) == 43
    assert ((counts[7:] - 1000) ** 2 / 1000).sum() < 35 + 6 * np.sqrt(70)  # chi-squared, 35 degrees of freedom


def test_uniform_with_equal_bounds_is_fixed():
    assert {Uniform(5, 5).length(CONTEXT, np.random.default_rng(seed)) for seed in range(9)} == {5}


def test_fixed_is_always_the_same():
    assert Fixed(12).length(CONTEXT, np.random.default_rng(0)) == 12


@pytest.mark.parametrize(("low", "high"), [(0, 5), (8, 7), (-3, 3)])
def test_bounds_out_of_order_or_below_one_are_refused(low, high):
    with pytest.raises(ValueError, match="must be at least"):
        Uniform(low, high)
    with pytest.raises(ValueError, match="must be at least 1"):
        Fixed(0)
