"""The guard: whatever a policy answers, what reaches the sampler is on the region, or the plugin is named."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core.errors import PluginError
from andrea_core.guard import Blame, blaming, land, pair
from andrea_core.simplex import Region
from andrea_core.testing.geometry import regions
from andrea_core.values import Ledger, Moment, Proposal, Sources

BLAME = Blame("policy", "mine", "./mine.py", 12, "polish")


def moment(region):
    count = len(region.names)
    zero = np.zeros(count, np.int64)
    sources = Sources(region.names, zero)
    return Moment(0, 12, "polish", sources, region, region.centre, Ledger(zero, zero, zero.astype(float)))


@given(regions(), st.data(), st.sampled_from(["euclidean", "kl"]))
def test_every_landed_vector_is_on_the_region_bit_for_bit_and_excluded_sources_get_plus_zero(region, data, landing):
    size = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1e-300, 5e-324, 1e300, 1.0]))
    values = np.array(data.draw(st.lists(size, min_size=len(region.names), max_size=len(region.names))))
    values[region.upper == 0] = 0.0
    if not values.any():
        values[int(np.argmax(region.upper))] = 1.0
    weights = land(values, moment(region), [], landing, BLAME).weights

    assert region.check(weights) == []
    assert math.fsum(weights) == pytest.approx(1.0, abs=1e-15)
    out = weights[region.upper == 0]
    assert (out == 0).all()
    assert not np.signbit(out).any()


@given(regions())
def test_a_legal_proposal_lands_where_it_is(region):
    point = region.sample(np.random.default_rng(0))
    landed = land(point, moment(region), [], "euclidean", BLAME).weights

    assert landed == pytest.approx(point, abs=1e-9)


THREE = Region.of(("a", "b", "c"), exclude=("c",))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.array([0.5, 0.5]), ["shape (2,)", "(3,)"]),
        (np.array([[0.5, 0.5, 0.0]]), ["shape (1, 3)"]),
        (np.array([np.nan, 1.0, 0.0]), ["nan", "'a'", "not finite"]),
        (np.array([0.5, np.inf, 0.0]), ["inf", "'b'", "not finite"]),
        (np.array([1.5, -0.5, 0.0]), ["-0.5", "'b'", "negative"]),
        (np.array([0.5, 0.4, 0.1]), ["0.1", "'c'", "excluded"]),
        (np.array([1.0, 0.0, 1e-300]), ["1e-300", "'c'", "excluded"]),
        (np.zeros(3), ["zero for every source"]),
        ("much", ["str", "no vector"]),
        (None, ["NoneType"]),
        (np.array([1 + 1j, 0, 0]), ["complex128", "real numbers"]),
        (["1", "0", "0"], ["['1', '0', '0']", "real numbers"]),
        (Proposal(np.array([0.5, 0.5, 0.0]), steps=0), ["phase of 0 steps"]),
    ],
)
def test_a_plugins_fault_names_plugin_phase_source_and_amount(answer, words):
    with pytest.raises(PluginError) as caught:
        land(answer, moment(THREE), [], "euclidean", BLAME)
    message = str(caught.value)

    for word in ["policy 'mine'", "./mine.py", "phase 12", "'polish'", *words]:
        assert word in message


def test_huge_weights_do_not_overflow():
    weights = land(np.array([1e308, 1e308, 0.0]), moment(THREE), [], "euclidean", BLAME).weights

    assert weights.tolist() == [0.5, 0.5, 0.0]


def test_an_adjustment_is_checked_like_a_policy_and_blamed_by_its_own_name():
    class Evil:
        def adjust(self, requested, moment):
            requested[2] = 0.25
            return requested

    evil = Blame("adjust", "evil", "./evil.py", 12, "polish")
    with pytest.raises(PluginError, match=r"adjust 'evil'.*0.25.*'c'.*excluded"):
        land(np.array([0.5, 0.5, 0.0]), moment(THREE), [(evil, Evil())], "euclidean", BLAME)


def test_what_a_plugin_raises_is_told_with_its_line():
    with pytest.raises(PluginError, match=r"policy 'mine'.*raised ZeroDivisionError.*line \d+ of .*test_guard"):
        with blaming(BLAME):
            1 / 0  # noqa: B018


@pytest.mark.parametrize("answer", [None, 3.0, (1, 2, 3), [1, 2]])
def test_what_is_no_pair_is_blamed_on_the_plugin_not_on_the_line_that_unpacks_it(answer):
    with pytest.raises(PluginError, match=f"policy 'mine'.*{re.escape(repr(answer))}, not scores and a state"):
        pair(answer, "scores and a state", BLAME)
