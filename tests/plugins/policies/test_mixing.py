"""What mixture policies share: the exact floor, the masked softmax, and how signals are heard."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from mixtures import phase

from andrea_plugins.policies.mixing import filled, heard, lowered, masked, raised, softmax

ALL = np.ones(3, bool)
_WEIGHTS = hnp.arrays(np.float64, st.integers(1, 12), elements=st.floats(0, 1))


@given(_WEIGHTS, st.floats(0, 1), st.data())
def test_a_floor_holds_exactly_and_keeps_order_and_ratios_above_it(weights, part, data):
    active = data.draw(hnp.arrays(np.bool_, len(weights)).filter(np.any))
    floor = part / active.sum()
    found = raised(weights, floor, active)

    assert found[active].min() >= min(floor, 1.0 / active.sum())
    assert (found[~active] == 0).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    before = masked(weights, active)
    above = found > floor * (1 + 1e-9)
    if above.any() and floor < 1 / active.sum():
        ratios = found[above] / before[above]
        assert ratios == pytest.approx(ratios[0], rel=1e-9)


def test_lifting_and_then_dividing_would_break_the_floor():
    weights = np.array([0.95, 0.04, 0.01])
    lifted = np.maximum(weights, 0.1)

    assert (lifted / lifted.sum()).min() < 0.1
    assert raised(weights, 0.1, ALL) == pytest.approx([0.8, 0.1, 0.1])


def test_softmax_gives_0_to_minus_infinity_and_is_uniform_over_nothing_else():
    assert softmax(np.array([0.0, -np.inf, 0.0]), ALL).tolist() == [0.5, 0.0, 0.5]
    assert softmax(np.full(3, -np.inf), np.array([True, False, True])).tolist() == [0.5, 0.0, 0.5]
    assert softmax(np.array([1e308, -1e308, np.inf]), ALL) == pytest.approx([0.5, 0.0, 0.5])


def test_log_weights_are_bounded_below_the_largest():
    assert lowered(np.array([5.0, -1e300, -np.inf])).tolist() == [0.0, -100.0, -100.0]


def test_signals_are_finite_or_nan():
    said = phase([0.4, 0.3, 0.3], loss=[np.inf, 1e300, 2.0], heldout=[np.nan, -np.inf, 1.0], reward=[1e308, np.nan, 2])

    assert np.isnan(heard(said, "training")).tolist() == [True, False, False]
    assert heard(said, "training")[1] == 1e6
    assert np.isnan(heard(said, "heldout")).tolist() == [True, True, False]
    assert heard(said, "reward")[0] == 1e100
    assert np.isnan(heard(phase([1.0]), "heldout")).all()


def test_gaps_are_filled_with_the_mean_of_open_sources():
    values = np.array([1.0, np.nan, 5.0])

    assert filled(values, np.array([True, True, False]), 0.0).tolist() == [1.0, 1.0, 5.0]
    assert filled(np.full(2, np.nan), np.ones(2, bool), 7.0).tolist() == [7.0, 7.0]
