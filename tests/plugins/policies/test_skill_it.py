"""Skill-It: golden first mixtures, the window, graphs in both spellings, and a learned graph of the Aioli authors."""

import numpy as np
import pytest
from mixtures import phase, sources_of, target_of

from andrea_core import Region, ScenarioError
from andrea_plugins.policies.skill_it import SkillIt

LEGO = {"s1": {"s0": 0.5, "s2": 0.5, "s3": 0.5}}  # skill 2 helps skills 1, 3 and 4
LEARNED = ((0.7576, 0.4283, 0.5222), (0.4226, 0.6416, 0.4797), (0.6713, 0.4985, 0.7214))


def mixture(policy, count, *losses, weights=None):
    """The weights after phases with these held-out losses."""
    state = policy.start(sources_of(count))
    for number, loss in enumerate(losses):
        state = policy.update(state, phase(np.full(count, 1 / count), heldout=loss, number=number))
    return target_of(policy, state, count)


def softmax(values):
    powers = np.exp(values - np.max(values))
    return powers / powers.sum()


def test_the_lego_graph_gives_the_golden_first_mixture():
    graph = {"s1": {"s0": 0.5, "s2": 0.5, "s3": 0.5}}
    expected = softmax(0.5 * np.array([1.0, 2.5, 1.0, 1.0, 1.0]))

    assert mixture(SkillIt(graph=graph), 5) == pytest.approx(expected, abs=1e-12)
    assert mixture(SkillIt(graph=graph), 5) == pytest.approx([0.163479, 0.346085, *[0.163479] * 3], abs=1e-6)


def test_the_lego_graph_gives_the_golden_mixture_after_losses_of_69_hundredths():
    weights = mixture(SkillIt(graph=LEGO), 5, [0.69] * 5)

    assert weights == pytest.approx([0.176124, 0.295505, 0.176124, 0.176124, 0.176124], abs=1e-6)


def test_the_addition_graph_gives_the_golden_first_mixture():
    weights = mixture(SkillIt(graph={"s1": {"s0": 0.5}}, eta=0.1), 3)

    assert weights == pytest.approx([0.327732, 0.344535, 0.327732], abs=1e-6)


def test_a_learned_graph_weighs_the_losses_of_the_last_three_phases():
    losses = [[9.0, 1.0, 5.0], [3.0, 2.5, 2.0], [2.9, 2.2, 1.9], [2.8, 2.0, 1.8]]
    summed = np.sum(losses[1:], axis=0)

    assert mixture(SkillIt(matrix=LEARNED, eta=0.2), 3, *losses) == pytest.approx(
        softmax(0.2 * np.array(LEARNED) @ summed), abs=1e-12
    )


def test_it_is_not_cumulative():
    once = mixture(SkillIt(graph=LEGO, window=1), 5, [1.0, 2.0, 3.0, 4.0, 5.0])
    often = mixture(SkillIt(graph=LEGO, window=1), 5, *[[1.0, 2.0, 3.0, 4.0, 5.0]] * 6)

    assert often == pytest.approx(once, abs=1e-15)


def test_the_prior_multiplies_and_0_stays_0():
    weights = mixture(SkillIt(prior={"s0": 0.5, "s1": 0.25}), 3, [1.0, 1.0, 4.0])

    assert weights == pytest.approx([2 / 3, 1 / 3, 0.0])


def test_only_losses_of_targets_count():
    weights = mixture(SkillIt(graph={"s0": {"s2": 0.5}}, targets=("s2",), eta=1.0, window=1), 3, [5.0, 5.0, 2.0])

    assert weights == pytest.approx(softmax(np.array([1.0, 0.0, 2.0])))


def test_graph_and_matrix_say_the_same_and_a_diagonal_may_be_given():
    matrix = ((1.0, 0.0, 0.0), (0.5, 0.2, 0.0), (0.0, 0.0, 1.0))
    losses = [1.0, 2.0, 0.5]

    assert mixture(SkillIt(matrix=matrix), 3, losses) == pytest.approx(
        mixture(SkillIt(graph={"s1": {"s0": 0.5, "s1": 0.2}}), 3, losses), abs=1e-15
    )


def test_a_missing_loss_is_the_last_one_and_before_any_the_mean_of_the_others():
    first = mixture(SkillIt(window=1), 3, [np.nan, 2.0, 4.0])
    later = mixture(SkillIt(window=1), 3, [1.0, 2.0, 4.0], [np.nan, 2.5, 3.5])

    assert first == pytest.approx(softmax(0.5 * np.array([3.0, 2.0, 4.0])))
    assert later == pytest.approx(softmax(0.5 * np.array([1.0, 2.5, 3.5])))


def test_training_losses_may_stand_in_and_then_nothing_is_asked_for():
    policy = SkillIt(signal="training", window=1)
    state = policy.update(policy.start(sources_of(2)), phase([0.5, 0.5], loss=[1.0, 3.0], heldout=[9.0, 0.0]))

    assert target_of(policy, state, 2) == pytest.approx(softmax(0.5 * np.array([1.0, 3.0])))
    assert policy.needs == frozenset()
    assert SkillIt().needs == {"heldout"}


def test_closed_sources_get_nothing_even_with_an_infinite_need():
    policy = SkillIt(eta=1e6, window=1)
    state = policy.update(policy.start(sources_of(3)), phase([0.5, 0.5, 0.0], heldout=[1e300, 1.0, 2.0]))
    region = Region.of(("s0", "s1", "s2"), exclude=("s0",))

    assert target_of(policy, state, region).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"graph": {"s9": {"s0": 1.0}}}, "policy skill_it, graph: no source is called 's9'"),
        ({"graph": {"s0": {"s8": 1.0}}}, "policy skill_it, graph.s0: no source is called 's8'"),
        ({"matrix": ((1.0,),)}, "policy skill_it, matrix: 1 rows for 3 sources"),
        ({"targets": ("s7",)}, "policy skill_it, targets: no source is called 's7'"),
    ],
)
def test_names_and_sizes_that_do_not_fit_are_refused_at_the_start(settings, message):
    with pytest.raises(ScenarioError, match=message):
        SkillIt(**settings).start(sources_of(3))


def test_settings_that_cannot_be_meant_are_refused():
    with pytest.raises(ValueError, match="must be square"):
        SkillIt(matrix=((1.0, 0.0), (1.0,)))
    with pytest.raises(ValueError, match="must hold finite numbers"):
        SkillIt(graph={"s0": {"s1": float("inf")}})
    with pytest.raises(ValueError, match="give one of them"):
        SkillIt(graph=LEGO, matrix=((1.0,),))
