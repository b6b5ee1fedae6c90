"""The learning rate: warm-up, cosine, constant."""

import math
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from andrea_core.model.schedule import learning_rate
from andrea_core.model.settings import OptimizerSettings


def test_warm_up_is_the_stated_linear_factor() -> None:
    settings = OptimizerSettings(lr=3e-4, warmup=2000)

    for step in (0, 1, 999, 1999):
        assert learning_rate(step, settings, 200_000) == pytest.approx(3e-4 * min(1, (step + 1) / 2000))


def test_the_peak_is_reached_once_warm_up_ends() -> None:
    settings = OptimizerSettings(lr=3e-4, warmup=10)

    assert learning_rate(9, settings, 100) == 3e-4


def test_the_last_step_runs_at_the_final_fraction() -> None:
    settings = OptimizerSettings(lr=2e-3, warmup=10, final=0.25)

    assert learning_rate(99, settings, 100) == pytest.approx(5e-4, rel=1e-12)


def test_the_middle_of_the_decay_lies_halfway_between_peak_and_end() -> None:
    settings = OptimizerSettings(lr=1.0, warmup=1, final=0.2)

    assert learning_rate(50, settings, 101) == pytest.approx(0.6)


def test_without_warm_up_the_first_step_runs_at_the_peak() -> None:
    assert learning_rate(0, OptimizerSettings(lr=3e-4, warmup=0), 100) == 3e-4


def test_the_constant_schedule_stays_at_the_peak_after_warm_up() -> None:
    settings = OptimizerSettings(lr=1e-3, warmup=4, schedule="constant")

    assert [learning_rate(step, settings, 50) for step in (1, 4, 20, 49)] == [5e-4, 1e-3, 1e-3, 1e-3]


def test_wsd_keeps_the_peak_and_falls_like_one_minus_a_root_over_the_last_part() -> None:
    settings = OptimizerSettings(lr=1.0, warmup=5, schedule="wsd", decay=0.2, final=0.1)
    rates = [learning_rate(step, settings, 100) for step in range(100)]

    assert rates[4:80] == [1.0] * 76
    assert rates[84] == pytest.approx(0.1 + 0.9 * (1 - math.sqrt(5 / 20)))
    assert rates[99] == pytest.approx(0.1)


def test_the_inverse_root_meets_the_warm_up_at_the_peak() -> None:
    settings = OptimizerSettings(lr=1.0, warmup=16, schedule="inverse_sqrt")

    assert learning_rate(15, settings, 1000) == learning_rate(16, OptimizerSettings(lr=1.0, warmup=17), 1000) == 1.0
    assert learning_rate(63, settings, 1000) == pytest.approx(0.5)


@given(
    schedule=st.sampled_from(["cosine", "wsd", "inverse_sqrt", "constant"]),
    lr=st.floats(1e-6, 1.0),
    warmup=st.integers(0, 60),
    final=st.floats(0, 1),
    total=st.integers(1, 50),
)
def test_the_rate_rises_then_falls_and_stays_within_bounds(
    schedule: str, lr: float, warmup: int, final: float, total: int
) -> None:
    settings = OptimizerSettings(lr=lr, warmup=warmup, final=final, schedule=schedule)
    rates = [learning_rate(step, settings, total) for step in range(total)]
    turn = min(warmup, total)
    slack = 1 + 1e-12

    assert all(0 < rate <= lr * slack or (final == 0 and rate >= 0) for rate in rates)
    assert all(a < b for a, b in pairwise(rates[:turn]))
    assert all(b <= a * slack for a, b in pairwise(rates[turn:]))
    assert all(math.isfinite(rate) for rate in rates)
