"""Faults that users of other mixtures met, in weights and shares, each as a test; ids are those of the case list."""

import math

import numpy as np
import pytest
from landings import landed, names

from andrea_core import Region
from andrea_core.data.apportion import apportion, multinomial
from andrea_core.testing.certificates import assert_kl_nearest, assert_member


def test_a_floor_is_kept_by_the_rows_that_are_drawn():
    """WGT-4, WGT-5: sail-sg/regmix#10, marin-community/marin#8373: rare sources whose share rounds to no row at all."""
    floors = dict.fromkeys(names(16)[5:], 2.5e-4)
    w = landed(np.eye(16)[0], Region.of(names(16), floors))
    assert (w[5:] >= 2.5e-4).all()
    carry, drawn = np.zeros(16), np.zeros(16)
    for _ in range(80):  # phases of 25 steps of 8 rows, each with less than a row for a rare source
        plan, carry = apportion(carry, w, 200)
        drawn += np.bincount(plan, minlength=16)
    assert (np.abs(drawn[5:] - 16_000 * 2.5e-4) < 1).all()
    assert np.floor(200 * w[5:]).sum() == 0


def test_extreme_weights_index_no_source_that_is_not_there():
    """WGT-6: NVIDIA/Megatron-LM#705: weights 1 - 1e-9 and 1e-9 end in an index error."""
    w = landed(np.array([1 - 1e-9, 1e-9]), Region.of("ab"))
    assert set(apportion(np.zeros(2), w, 5000)[0].tolist()) == {0}
    assert set(multinomial(w, 100_000, np.random.default_rng(0)).tolist()) <= {0, 1}


@pytest.mark.parametrize("draw", ["apportioned", "multinomial"])
def test_halving_a_weight_halves_the_rows_of_that_source(draw):
    """PRO-7, PRO-12: NVIDIA-NeMo/Nemotron#78, pytorch/torchtitan#3063: does a weight do anything, and what?

    A weight is the probability that a row is the source's; twice the ratio to the others is twice their ratio in rows.
    """
    before, after = np.array([0.4, 0.6]), np.array([0.2, 0.6]) / 0.8
    rows = 20_000

    def drawn(w):
        if draw == "apportioned":
            return np.bincount(apportion(np.zeros(2), w, rows)[0], minlength=2)
        return np.bincount(multinomial(w, rows, np.random.default_rng(1)), minlength=2)

    tolerance = 1.0 if draw == "apportioned" else 5 * math.sqrt(rows * 0.25)
    assert np.abs(drawn(before) - rows * before).max() <= tolerance
    assert np.abs(drawn(after) - rows * after).max() <= tolerance
    ratio = (drawn(before)[0] / drawn(before)[1]) / (drawn(after)[0] / drawn(after)[1])
    assert ratio == pytest.approx(2.0, rel=0.06)


@pytest.mark.parametrize("landing", ["euclidean", "kl"])
@pytest.mark.parametrize("answer", [[1e-9, 2e-9, 1e-9, 0.0], [1e300, 1.0, 1.0, 1.0], [5e-324, 0.0, 0.0, 0.0]])
def test_wishes_below_every_floor_or_with_one_giant_entry_land_exactly(answer, landing):
    """SOL-8: SlopDotCash/asi#2242: floor and renormalise sums to 1 only within 3e-6."""
    region = Region.of("abcd", {"a": 0.3, "b": 0.3, "c": 0.2, "d": 0.1}, {"a": 0.35})
    w = landed(np.array(answer), region, landing)
    assert_member(region, w)
    naive = np.maximum(np.array(answer) / np.sum(answer), region.lower)
    naive /= naive.sum()
    assert (naive < region.lower).any() or math.fsum(naive) != 1.0


def test_a_weight_too_small_to_divide_by_does_not_spoil_the_others():
    """WGT-8, SAM-14: bounds that carry the whole mass next to a free weight of 1e-317, in a multiplicative landing."""
    region = Region.of("abcd", {"d": 0.1}, {"a": 0.3, "b": 0.4, "c": 0.9, "d": 0.3})
    p = np.array([1.0, 1e-17, 1e-317, 1e-34])
    for w in (region.project(p, "kl"), region.project([p] * 20, "kl")[7]):
        assert_member(region, w)
        assert_kl_nearest(region, p, w)
        np.testing.assert_allclose(w, [0.3, 0.4, 0.0, 0.3], atol=1e-15)
