"""Apportionment: never a row away from what is due, and exclusion wins over debt."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core.data.apportion import FEW, apportion, by_deadline, multinomial, restart, row_by_row


def walk(carry, weights, rows):
    """The debts (rows, K) after each row."""
    plan, _ = apportion(carry, weights, rows)
    drawn = np.cumsum(np.eye(len(weights))[plan], axis=0)
    return carry + np.outer(np.arange(1, rows + 1), weights) - drawn


SIZES = st.integers(1, 20)


@st.composite
def mixtures(draw, sizes=SIZES):
    parts = draw(st.lists(st.integers(0, 1000), min_size=1, max_size=draw(sizes)).filter(any))
    return np.array(parts) / sum(parts)


@given(mixtures(), st.integers(1, 600))
def test_under_constant_weights_no_source_is_further_than_the_tijdeman_bound_from_its_due(weights, rows):
    live = int((weights > 0).sum())
    bound = 1 - 1 / (2 * live - 2) if live > 1 else 0.0

    assert np.abs(walk(np.zeros(len(weights)), weights, rows)).max() <= bound + 1e-9


def test_the_bound_is_met_where_largest_deficit_greedy_breaks_it():
    """60 Dirichlet(.3) mixtures, 4,000 draws, K = 16: greedy is up to 1.125 rows away."""
    rng = np.random.default_rng(0)
    worst = max(np.abs(walk(np.zeros(16), rng.dirichlet([0.3] * 16), 4000)).max() for _ in range(60))

    assert worst <= 1 - 1 / 30 + 1e-9


@given(mixtures(st.just(16)), mixtures(st.just(16)), st.integers(112, 700))
def test_after_a_jump_of_the_weights_the_debts_return_below_one_row(before, after, rows):
    size = min(len(before), len(after))
    before, after = before[:size] + 1e-3, after[:size] + 1e-3
    before, after = before / before.sum(), after / after.sum()
    _, carry = apportion(np.zeros(size), before, rows)
    _, later = apportion(carry, after, rows)

    assert np.abs(later).max() < 1


@given(mixtures(), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_a_source_of_weight_zero_is_never_drawn_whatever_it_is_owed(weights, rows, seed):
    rng = np.random.default_rng(seed)
    carry = rng.normal(size=len(weights)) * 3
    plan, _ = apportion(carry - carry.mean(), weights, rows)

    assert (weights[plan] > 0).all()
    assert (weights[multinomial(weights, rows, rng)] > 0).all()


def test_tiny_weights_are_served_over_time():
    weights = np.array([1 - 2e-6, 2e-6])
    carry, drawn = np.zeros(2), np.zeros(2)
    for _ in range(1000):
        plan, carry = apportion(carry, weights, 1000)
        drawn += np.bincount(plan, minlength=2)

    assert drawn[1] in (1, 2, 3)


def test_two_sources_may_follow_themselves():
    plan, _ = apportion(np.zeros(2), np.array([0.9, 0.1]), 20)

    assert np.bincount(plan).tolist() == [18, 2]


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=9), st.data())
def test_a_restart_forgives_the_excluded_and_keeps_the_sum_at_zero(values, data):
    carry = np.array(values) - np.mean(values)
    active = np.array(data.draw(st.lists(st.booleans(), min_size=len(carry), max_size=len(carry)).filter(any)))
    after = restart(carry, active)

    assert (after[~active] == 0).all()
    assert after.sum() == pytest.approx(0, abs=1e-12)
    assert np.diff((after - carry)[active]) == pytest.approx(0, abs=1e-12)


def looking_at_every_source_in_every_row(carry, weights, rows):
    """Tijdeman's rule as it is written, one addition a source and row: what every other way must repeat bit for bit."""
    live = [int(i) for i in np.flatnonzero(weights > 0)]
    owed, weight = carry.tolist(), weights.tolist()
    margin = 1 / (2 * len(live) - 2) if len(live) > 1 else 0.0
    plan = np.empty(rows, np.int64)
    for row in range(rows):
        for source in live:
            owed[source] += weight[source]
        able = [source for source in live if owed[source] >= margin - 1e-12]
        if able:
            chosen = min(able, key=lambda source: (1 - margin - owed[source]) / weight[source])
        else:
            chosen = max(live, key=owed.__getitem__)
        owed[chosen] -= 1
        plan[row] = chosen
    return plan, carry + rows * weights - np.bincount(plan, minlength=len(weights))


def same(carry, weights, rows):
    plan, after = apportion(carry, weights, rows)
    reference, owed = looking_at_every_source_in_every_row(carry, weights, rows)
    return plan.tolist() == reference.tolist() and after.tobytes() == owed.tobytes()


KINDS = ("any", "peaked", "equal", "cents", "sparse", "quarters")


def weights_of(kind, count, rng):
    """Weights (count,): generic ones, and those that make ties."""
    weights = rng.dirichlet(np.full(count, 0.05 if kind == "peaked" else 1.0))
    if kind == "equal":
        weights = np.full(count, 1.0)
    elif kind == "cents":
        weights = np.round(weights, 2) + 0.01
    elif kind == "sparse":
        weights = np.where(rng.random(count) < 0.5, weights, 1e-18 * (rng.random(count) < 0.5))
        weights[rng.integers(count)] += 0.01
    elif kind == "quarters":
        weights = rng.multinomial(4, np.full(count, 1 / count)) / 4
    return weights / weights.sum()


@given(st.sampled_from(KINDS), st.integers(1, 40), st.integers(0, 2**32 - 1), st.lists(st.integers(1, 300), max_size=4))
def test_rows_come_in_the_very_order_of_the_row_by_row_rule_phase_after_phase(kind, count, seed, phases):
    rng = np.random.default_rng(seed)
    carry = np.zeros(count)
    for rows in phases:
        weights = weights_of(kind, count, rng)
        assert same(carry, weights, rows)
        carry = apportion(carry, weights, rows)[1]


@given(st.integers(2, 20), st.integers(0, 2**32 - 1), st.integers(FEW + 1, 300))
def test_debts_of_any_size_change_nothing_about_that(count, seed, rows):
    rng = np.random.default_rng(seed)

    assert same(rng.normal(size=count) * 3, weights_of("any", count, rng), rows)


def test_generic_weights_take_the_quick_way_and_doubtful_ones_do_not():
    rng = np.random.default_rng(0)
    generic = [rng.dirichlet(np.ones(16)) for _ in range(50)]

    assert all(by_deadline(np.zeros(16), weights, 200) is not None for weights in generic)
    assert by_deadline(np.zeros(16), np.full(16, 1 / 16), 200) is not None  # nothing rounds: ties are ties
    assert by_deadline(np.zeros(7), np.full(7, 1 / 7), 200) is None


@given(
    st.lists(st.sampled_from([0.0, 5e-324, 1e-310, 1e-200, 1e-13, 0.1, 0.25]), min_size=2, max_size=6),
    st.integers(0, 2**16),
)
def test_weights_near_0_are_planned_like_any_other(small, seed):
    weights = np.array([*small, 0.0])
    weights[-1] = 1.0 - weights.sum() if weights.sum() <= 1.0 else 0.0
    weights /= weights.sum() or 1.0
    carry = np.random.default_rng(seed).choice([0.0, 0.5, -0.5, 1 / 6, 1e-12], len(weights))
    carry -= carry.mean()
    plan, after = apportion(carry, weights, 4 * FEW)

    live = np.flatnonzero(weights > 0)
    assert plan.tolist() == live[row_by_row(carry[live].tolist(), weights[live].tolist(), 4 * FEW)].tolist()
    assert np.isfinite(after).all()
