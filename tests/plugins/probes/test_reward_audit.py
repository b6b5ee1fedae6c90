"""The reward audit finds a planted perfect, a planted contrary, and a planted unrelated reward."""

import numpy as np
import pytest

from andrea_core import Sources
from andrea_plugins.probes.rank_correlation import interval, rank_correlation
from andrea_plugins.probes.reward_audit import RewardAudit

COUNT = 5
SOURCES = Sources(tuple("abcde"), np.ones(COUNT, np.int64))


def audited(reward_of, phases=60, **settings):
    """Walk phases of 10 steps whose next gains (K,) are drawn first; the reward is a function of them."""
    rng, probe = np.random.default_rng(3), RewardAudit(**settings)
    gains, trained = rng.normal(size=(phases + 1, COUNT)), np.ones(COUNT, bool)
    state, heldout = probe.start(SOURCES), np.full(COUNT, 9.0)
    for index in range(phases):
        heldout = heldout - gains[index]
        reward = reward_of(gains[index + 1], rng)
        state = probe.followed(state, "one", (10 * index, 10 * index + 10), reward, trained, heldout)
    return probe.correlations(state), state, probe


@pytest.mark.parametrize("sign", [1, -1])
def test_a_planted_reward_is_found_with_its_sign(sign):
    found, _, _ = audited(lambda gain, rng: sign * gain**3)

    np.testing.assert_allclose(found["by_source"].value, sign)
    assert found["across"].value == pytest.approx(sign)
    assert found["across_error"].value == pytest.approx(0, abs=1e-12)
    assert found["by_source"].status == found["across"].status == "ok"


def test_an_unrelated_reward_is_within_its_errors_of_nothing():
    found, _, _ = audited(lambda gain, rng: rng.normal(size=COUNT), phases=99)

    assert abs(found["across"].value) < 4 * found["across_error"].value
    assert 0.02 < found["across_error"].value < 0.1
    assert (np.abs(found["by_source"].value) < 4 / np.sqrt(97)).all()


def test_too_little_is_undetermined_and_what_is_enough_ends_the_spending():
    few, _, probe = audited(lambda gain, rng: gain, phases=5)
    much, _, _ = audited(lambda gain, rng: gain, phases=110)

    assert few["by_source"].status == few["across"].status == "undetermined"
    assert probe.correlations(probe.start(SOURCES))["across"].status == "missing"
    assert much["across"].status == "over_budget"


def test_a_new_stage_starts_afresh_and_a_gap_gives_no_pair():
    _, state, probe = audited(lambda gain, rng: gain)
    ones = np.ones(COUNT)
    gap = probe.followed(state, "one", (999, 1000), ones, ones > 0, ones)
    fresh = probe.followed(state, "two", (600, 610), ones, ones > 0, ones)

    assert len(gap.gains) == len(state.gains)
    assert len(fresh.gains) == 0


def test_the_interval_covers_an_unrelated_pair_about_as_often_as_it_says():
    rng = np.random.default_rng(11)
    pairs = [rank_correlation(*rng.normal(size=(2, 30))) for _ in range(1000)]
    inside = np.mean([low <= 0 <= high for low, high in (interval(r, 30) for r in pairs)])
    assert inside == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 1000))
