"""Temperature and UniMax: weights from sizes alone."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core import Moment, Region, Sources
from andrea_core.testing.bandits import opening
from andrea_plugins.policies import Proportional, Temperature, UniMax
from andrea_plugins.policies.unimax import allotted


def propose(policy, tokens, exclude=()):
    names = tuple("abcdefgh"[: len(tokens)])
    region = Region.of(names, exclude=exclude)
    first = opening(names)
    moment = Moment(0, 0, "s", Sources(names, np.array(tokens)), region, region.centre, first.ledger)
    return policy.propose(None, moment, np.random.default_rng(0)).tolist()


def test_temperature_two_gives_the_golden_weights():
    expected = [0.706101, 0.223289, 0.070610]
    assert propose(Temperature(temperature=2.0), [10**6, 10**5, 10**4]) == pytest.approx(expected, abs=1e-6)


def test_temperature_one_is_proportional():
    tokens = [7, 500, 31]
    assert propose(Temperature(temperature=1.0), tokens) == propose(Proportional(), tokens)


def test_the_default_temperature_flattens_sizes_and_leaves_out_what_is_excluded():
    weights = propose(Temperature(), [32 * 10**4, 10**4, 10**9], exclude=("c",))
    assert weights == pytest.approx([2 / 3, 1 / 3, 0.0])


def printed(sizes, budget, epochs):
    """UniMax's algorithm 1 as printed: a loop over sources from small to large."""
    shares, left = np.zeros(len(sizes)), budget
    order = np.argsort(sizes, kind="stable")
    for place, source in enumerate(order):
        shares[source] = min(left / (len(sizes) - place), epochs * sizes[source])
        left -= shares[source]
    return shares / shares.sum()


@given(
    st.lists(st.integers(1, 10**12), min_size=1, max_size=8),
    st.floats(1, 1e13),
    st.floats(0.1, 100),
)
def test_unimax_is_the_printed_loop(sizes, budget, epochs):
    answer = propose(UniMax(budget=budget, epochs=epochs), sizes)
    assert answer == pytest.approx(printed(np.array(sizes, float), budget, epochs).tolist(), rel=1e-9)


def test_unimax_by_hand():
    """10 and 40 of 300 tokens are capped at 2 epochs (20, 80), the rest is shared: 100 each."""
    assert propose(UniMax(budget=300, epochs=2), [1000, 10, 40, 500]) == pytest.approx([1 / 3, 2 / 30, 8 / 30, 1 / 3])


def test_unimax_with_more_budget_than_text_goes_by_size():
    assert propose(UniMax(budget=1e9, epochs=2), [30, 10, 60]) == pytest.approx([0.3, 0.1, 0.6])


def test_unimax_never_repeats_a_source_more_than_epochs_while_the_budget_can_be_filled():
    tokens = np.array([10, 40, 1000, 500])
    for epochs in (1.0, 2.0, 4.0):
        weights = np.array(propose(UniMax(budget=300, epochs=epochs), tokens))
        assert (300 * weights <= epochs * tokens * (1 + 1e-12)).all()


def test_an_excluded_source_gets_no_part_of_the_budget():
    assert allotted(np.array([0.0, 5.0, 100.0]), 50.0).tolist() == [0.0, 5.0, 45.0]
    assert propose(UniMax(budget=50), [100, 5, 100], exclude=("a",)) == pytest.approx([0.0, 0.1, 0.9])
