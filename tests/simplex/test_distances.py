"""Distances, entropy and the effective number of sources."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core.simplex import effective_number, entropy, hellinger, kl, l2, total_variation
from andrea_core.testing.geometry import regions, weights


def test_distances_of_a_worked_pair():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.25, 0.25])
    assert total_variation(p, q) == 0.25
    assert l2(p, q) == math.sqrt(0.125)
    assert kl(p, q) == pytest.approx(0.5 * math.log(2))
    assert kl(q, p) == math.inf
    assert hellinger([1.0, 0.0], [0.0, 1.0]) == pytest.approx(1.0)
    assert entropy([1.0, 0.0]) == 0.0
    assert effective_number([0.25] * 4) == pytest.approx(4.0)


@given(st.data())
def test_distances_are_zero_on_equals_bounded_and_ordered(data):
    region = data.draw(regions())
    p, q = data.draw(weights(region)), data.draw(weights(region))
    for distance in (total_variation, l2, hellinger, kl):
        assert distance(p, p) == 0.0
        assert distance(p, q) >= 0.0
    tv = total_variation(p, q)
    assert hellinger(p, q) ** 2 - 1e-15 <= tv <= math.sqrt(2) * hellinger(p, q) + 1e-15
    assert 2 * tv * tv <= kl(p, q) + 1e-13
    assert 1.0 <= effective_number(p) * (1 + 1e-14) <= len(p) * (1 + 1e-13)
