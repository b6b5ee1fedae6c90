"""Gradient alignment: against explicit gradient vectors, with sources that were not measured."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core import Gradients, Observation, Sources
from andrea_plugins.rewards import GradientAlignment

RNG = np.random.default_rng(0)


def aligned(g, h, **settings):
    """The scores of gradients (K, P) with held-out gradients (K, P)."""
    g, h, count = np.asarray(g, float), np.asarray(h, float), len(g)
    one = np.ones((1, 1), np.int64)
    shown = Observation(
        np.ones((1, 1)), one, 0 * one, np.full(count, 1 / count), 1, gradients=Gradients(g @ g.T, g @ h.T)
    )
    reward = GradientAlignment(**settings)
    sources = Sources(tuple(f"s{k}" for k in range(count)), np.ones(count, np.int64))
    return reward.score(reward.start(sources), shown, RNG)[0]


def cosine(left, right):
    return left @ right / (np.linalg.norm(left) * np.linalg.norm(right))


def test_the_product_is_with_the_mean_held_out_gradient():
    g, h = np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([[2.0, 0.0], [4.0, 2.0]])

    assert aligned(g, h, form="product") == pytest.approx([5.0, -1.0])  # with (3, 1)


def test_the_others_leave_the_source_itself_out():
    g, h = np.eye(3), np.array([[9.0, 0.0, 0.0], [1.0, 2.0, 0.0], [3.0, 0.0, 5.0]])

    assert aligned(g, h, form="product", target="others") == pytest.approx([2.0, 0.0, 0.0])


def test_the_cosine_is_the_true_one_when_the_gradients_span_everything():
    rng = np.random.default_rng(4)
    g, h = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    target = h.mean(0)

    assert aligned(g, h) == pytest.approx([cosine(one, target) for one in g])


def test_what_no_source_can_follow_does_not_count_in_the_cosine():
    rng = np.random.default_rng(4)
    g, h = np.zeros((3, 50)), rng.normal(size=(3, 50))
    g[:, :3] = rng.normal(size=(3, 3))
    target = h.mean(0)[:3]

    assert aligned(g, h) == pytest.approx([cosine(one[:3], target) for one in g])


def test_the_cosine_with_the_others_is_with_the_mean_of_the_others():
    rng = np.random.default_rng(5)
    g, h = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    expected = [cosine(g[i], np.delete(h, i, 0).mean(0)) for i in range(3)]

    assert aligned(g, h, target="others") == pytest.approx(expected)


def test_the_cosine_does_not_depend_on_how_large_gradients_are():
    rng = np.random.default_rng(6)
    g, h = rng.normal(size=(3, 9)), rng.normal(size=(3, 9))
    size = np.array([[1e-20], [1.0], [1e20]])

    assert aligned(size * g, 1e30 * h) == pytest.approx(aligned(g, h), rel=1e-6)


def test_two_sources_with_one_gradient_have_one_score():
    g, h = np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([[3.0, 4.0, 7.0]] * 3)

    assert aligned(g, h) == pytest.approx([0.6, 0.6, 0.8])


def test_sources_without_text_have_no_score_and_leave_the_others_theirs():
    rng = np.random.default_rng(7)
    g, h = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    g[1] = np.nan
    h[2] = np.nan
    found = aligned(g, h)
    target, span = h[[0, 1, 3]].mean(0), g[[0, 2, 3]]
    inside = np.linalg.lstsq(span.T, target, rcond=None)[0] @ span

    assert np.isnan(found).tolist() == [False, True, False, False]
    assert found[[0, 2, 3]] == pytest.approx([cosine(one, inside) for one in span])


def test_without_any_target_or_gradient_there_is_no_score():
    assert np.isnan(aligned(np.eye(2), np.full((2, 2), np.nan))).all()
    assert np.isnan(aligned(np.full((2, 2), np.nan), np.eye(2))).all()
    assert np.isnan(aligned(np.ones((1, 3)), np.ones((1, 3)), target="others")).all()


def test_a_gradient_of_0_has_a_product_but_no_cosine():
    g = np.array([[0.0, 0.0], [1.0, 0.0]])

    assert np.isnan(aligned(g, np.eye(2))).tolist() == [True, False]
    assert aligned(g, np.eye(2), form="product") == pytest.approx([0.0, 0.5])


@given(st.integers(1, 6), st.integers(1, 8), st.integers(0, 2**32 - 1), st.sampled_from(["mean", "others"]))
def test_cosines_lie_between_minus_1_and_1(count, size, seed, target):
    rng = np.random.default_rng(seed)
    g, h = rng.normal(size=(2, count, size)) * 10.0 ** rng.integers(-12, 12, (2, count, 1))
    found = aligned(g, h, target=target)

    assert (np.abs(found[~np.isnan(found)]) <= 1.0).all()


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_renaming_the_sources_renames_the_scores(count, seed):
    rng = np.random.default_rng(seed)
    g, h = rng.normal(size=(2, count, 8))
    order = rng.permutation(count)

    assert aligned(g[order], h[order]) == pytest.approx(aligned(g, h)[order], abs=1e-9)
