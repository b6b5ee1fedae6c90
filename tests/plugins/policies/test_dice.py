"""Dice: who acts, who learns, and what the record calls it."""

import numpy as np
import pytest

from andrea_core import Proposal, ScenarioError
from andrea_core.testing.worlds import draw_outcome, draw_region, make_moment, make_sources
from andrea_plugins.policies import Dice, Doremi, Face, Fixed, Random, Ucb1, Uniform

NAMES = ("a", "b", "c", "d")
DICE = Dice((Face(share=0.3, policy=Random()), Face(share=0.7, policy=Ucb1())))


def border(seed=0):
    rng = np.random.default_rng(seed)
    region = draw_region(NAMES, rng)
    return make_moment(make_sources(NAMES), seed, region, region.centre, rng)


def test_faces_act_as_often_as_their_shares_say():
    moment, state = border(), DICE.start(make_sources(NAMES))
    rng = np.random.default_rng(1)
    acted = [DICE.propose(state, moment, rng).acted for _ in range(4000)]

    assert abs(acted.count("random") / 4000 - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 4000)
    assert set(acted) == {"random", "ucb1"}


def test_the_face_that_was_drawn_makes_the_proposal():
    moment, state = border(), DICE.start(make_sources(NAMES))
    proposals = [DICE.propose(state, moment, np.random.default_rng(seed)) for seed in range(20)]
    expected = DICE.faces[1].policy.propose(state[1], moment, np.random.default_rng(0)).target
    for proposal in proposals:
        assert (proposal.acted == "ucb1") == (proposal.target.tolist() == expected.tolist())


def test_every_face_learns_from_every_outcome():
    sources = make_sources(NAMES)
    state, alone = DICE.start(sources), Ucb1().start(sources)
    rng = np.random.default_rng(2)
    for phase in range(6):
        outcome = draw_outcome(rng.dirichlet(np.ones(4)), phase, rng)
        state, alone = DICE.update(state, outcome), Ucb1().update(alone, outcome)

    assert state[0] is None
    assert state[1].pulls.tolist() == alone.pulls.tolist()
    assert state[1].reward.tolist() == alone.reward.tolist()


def test_a_dice_inside_a_dice_is_recorded_as_a_path():
    outer = Dice((Face(share=1, policy=Dice((Face(share=1, policy=Uniform()),)), name="inner"),))
    proposal = outer.propose(outer.start(make_sources(NAMES)), border(), np.random.default_rng(0))

    assert proposal.acted == "inner/uniform"


def test_a_face_may_have_a_name_of_its_own():
    dice = Dice((Face(share=1, policy=Ucb1(c=1), name="bold"), Face(share=1, policy=Ucb1(c=9), name="shy")))
    state = dice.start(make_sources(NAMES))
    acted = {dice.propose(state, border(), np.random.default_rng(seed)).acted for seed in range(20)}

    assert acted == {"bold", "shy"}


def test_the_acting_faces_notes_and_wished_steps_are_kept():
    class Wishing:
        needs = frozenset({"heldout"})

        def start(self, sources):
            return None

        def propose(self, state, moment, rng):
            return Proposal(moment.weights, steps=9, notes={"why": moment.weights})

    dice = Dice((Face(share=1, policy=Wishing()),))
    proposal = dice.propose((None,), border(), np.random.default_rng(0))

    assert (proposal.steps, proposal.acted, set(proposal.notes)) == (9, "wishing", {"why"})
    assert dice.needs == {"heldout"}


def test_two_faces_that_records_could_not_tell_apart_are_refused():
    with pytest.raises(ValueError, match="two faces are called 'ucb1'; give each a `name`"):
        Dice((Face(share=1, policy=Ucb1(c=1)), Face(share=1, policy=Ucb1(c=9))))


def test_a_dice_without_faces_and_a_face_without_share_are_refused():
    with pytest.raises(ValueError, match="at least one face"):
        Dice(())
    with pytest.raises(ValueError, match="greater than 0"):
        Face(share=0, policy=Fixed({"a": 1.0}))


def test_shares_whose_sum_overflows_are_refused_and_large_ones_are_not():
    with pytest.raises(ValueError, match="sum to more than a number can hold; only their ratios count"):
        Dice((Face(share=1e308, policy=Random()), Face(share=1e308, policy=Ucb1())))
    dice = Dice((Face(share=6e307, policy=Random()), Face(share=3e307, policy=Ucb1())))
    state, rng = dice.start(make_sources(NAMES)), np.random.default_rng(1)
    acted = [dice.propose(state, border(), rng).acted for _ in range(900)]

    assert abs(acted.count("random") / 900 - 2 / 3) < 5 * np.sqrt(2 / 9 / 900)


def test_a_face_that_does_not_fit_the_sources_is_named():
    dice = Dice((Face(share=1, policy=Random()), Face(share=1, policy=Doremi(reference={"a": 2.0}), name="robust")))
    with pytest.raises(
        ScenarioError, match=r"faces\[1\] \(robust\) does not fit the sources.*no number for source 'b'"
    ):
        dice.start(make_sources(NAMES))
