"""DoGE: its golden update, its two modes, its targets, and what becomes of sources without a gradient."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core import Gradients, Moment, Observation, Outcome, Region, ScenarioError, Sources
from andrea_core.testing import check_policy
from andrea_core.testing.worlds import draw_ledger
from andrea_plugins.policies import Doge
from andrea_plugins.policies.doge import exponentiated
from andrea_plugins.policies.mixing import softmax

NAMES = ("a", "b", "c")
ALL = np.ones(3, np.bool_)
G = np.array([[2.0, 0.0, 1.0], [1.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])


def sources(names=NAMES):
    return Sources(names, np.ones(len(names), np.int64))


def outcome(train, heldout=None, count=3):
    share = np.full(count, 1 / count)
    row = Observation(np.ones((1, 1)), np.ones((1, 1), np.int64), np.zeros((1, 1), np.int64), share, 1)
    row = Observation(
        row.loss, row.tokens, row.source, share, 1, gradients=Gradients(train, train if heldout is None else heldout)
    )
    return Outcome(1, 0, share, share, np.zeros(count), np.zeros(count, np.bool_), np.ones(count), row)


def moment(region):
    names = region.names
    ledger = draw_ledger(len(names), np.random.default_rng(0))
    return Moment(0, 0, "trial", sources(names), region, region.centre, ledger)


def target(policy, state, region=None):
    region = Region.of(NAMES) if region is None else region
    return policy.propose(state, moment(region), np.random.default_rng(0))


def after(policy, *tables):
    state = policy.start(sources())
    for table in tables:
        state = policy.update(state, outcome(*table))
    return state


def test_one_update_from_uniform_weights_is_the_golden_one():
    log = exponentiated(np.zeros(3), np.array([0.02, 0.0, -0.01]), 0.05)

    assert softmax(log, ALL) == pytest.approx([0.450627, 0.302064, 0.247309], abs=5e-7)


def test_the_golden_update_comes_out_of_a_phase_too():
    policy = Doge(lr=0.01, mu=0.05)  # the gradients' products sum to 2, 0 and -1
    state = after(policy, (np.array([[2.0, 0.0, 0.0], [0.0, 1.0, -1.0], [0.0, -1.0, 0.0]]),))

    assert target(policy, state).target == pytest.approx([0.450627, 0.302064, 0.247309], abs=5e-7)
    assert target(policy, state).notes["score"] == pytest.approx([0.02, 0.0, -0.01])


def test_the_first_phase_is_uniform_over_the_open_sources():
    policy = Doge()
    proposal = target(policy, policy.start(sources()), Region.of(NAMES, exclude=("b",)))

    assert proposal.target.tolist() == [0.5, 0.0, 0.5]


def test_the_released_mode_leaves_out_the_source_itself_divides_by_the_norm_and_clips():
    table = G @ G.T
    norm = np.sqrt(np.diag(table)).mean() + 1e-6
    transfer = np.clip((table.sum(1) - np.diag(table)) / norm, 0.0, 5.0)
    state = after(Doge(mode="released", lr=1e-3), (table,))

    assert state.score == pytest.approx(1e-3 * transfer)
    assert state.score[2] == 0.0  # it disagrees with both others


def test_the_released_mode_clips_at_five_learning_rates():
    state = after(Doge(mode="released", lr=1e-3), (1e6 * np.ones((3, 3)),))

    assert state.score == pytest.approx(np.full(3, 5e-3))


def test_targets_on_held_out_text_count_alone():
    heldout = np.arange(9.0).reshape(3, 3)
    state = after(Doge(targets=("b", "c"), text="heldout", lr=1.0), (np.eye(3), heldout))

    assert state.score == pytest.approx(heldout[:, 1:].sum(1))


def test_a_target_that_is_no_source_is_refused():
    with pytest.raises(ScenarioError, match="targets: no source is called 'd'"):
        Doge(targets=("d",)).start(sources())


def test_a_source_without_a_gradient_keeps_its_part_of_the_weight():
    table = G @ G.T
    table[1] = table[:, 1] = np.nan
    policy = Doge(lr=1.0, mu=1.0)
    before = softmax(after(policy, (np.diag([1.0, 2.0, 0.5]),)).log, ALL)
    now = softmax(after(policy, (np.diag([1.0, 2.0, 0.5]),), (table,)).log, ALL)

    assert now[1] == pytest.approx(before[1])
    assert now[0] > before[0]


def test_the_average_is_the_mean_of_the_weights_after_each_update():
    policy, tables = Doge(lr=1.0, mu=1.0, weights="average"), [(np.diag([1.0, 0.0, 0.0]),), (np.diag([0.0, 2.0, 0.0]),)]
    each = [softmax(after(policy, *tables[:n]).log, ALL) for n in (1, 2)]

    assert target(policy, after(policy, *tables)).target == pytest.approx(np.mean(each, 0))


@given(st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3), st.floats(1e-6, 1e3))
def test_no_score_makes_a_weight_that_is_not_finite_or_can_never_return(scores, mu):
    log = np.zeros(3)
    for _ in range(5):
        log = exponentiated(log, np.array(scores), mu)

    assert (log >= -100.0).all()
    assert softmax(log, ALL).sum() == pytest.approx(1.0)
    assert (softmax(log, ALL) > 0).all()


@pytest.mark.parametrize(
    "policy",
    [Doge(), Doge(mode="released"), Doge(text="heldout", targets=("b",)), Doge(weights="average", lr=10.0)],
    ids=repr,
)
def test_it_keeps_the_contract(policy):
    check_policy(policy)
