"""The policy check: built-in policies pass, and each way to break the contract is told apart with advice."""

import attrs
import numpy as np
import pytest

from andrea_core import PolicyTraits, Proposal
from andrea_core.testing import check_policy
from andrea_plugins.policies import Dice, Face, Fixed, Proportional, Random, Ucb1, Uniform

GOOD = [
    Random(),
    Uniform(),
    Proportional(temperature=3.0),
    Fixed({"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1}),
    Ucb1(),
    Dice((Face(share=0.3, policy=Random()), Face(share=0.7, policy=Ucb1()))),
]


@attrs.frozen
class Base:
    """A legal policy that the bad ones below break in one way each; it counts phases in its state."""

    needs = frozenset()

    def start(self, sources):
        return {"phases": 0, "losses": np.zeros(len(sources))}

    def propose(self, state, moment, rng):
        return moment.active * rng.random(len(moment.weights))

    def update(self, state, outcome):
        return {"phases": state["phases"] + 1, "losses": state["losses"] + np.nan_to_num(outcome.loss)}


@attrs.frozen
class Negative(Base):
    def propose(self, state, moment, rng):
        return moment.weights - 0.5


@attrs.frozen
class NotANumber(Base):
    def propose(self, state, moment, rng):
        return moment.weights * np.nan


@attrs.frozen
class FeedsExcluded(Base):
    def propose(self, state, moment, rng):
        return np.ones(len(moment.weights))


@attrs.frozen
class Nothing(Base):
    def propose(self, state, moment, rng):
        return np.zeros(len(moment.weights))


@attrs.frozen
class TooShort(Base):
    def propose(self, state, moment, rng):
        return moment.weights[1:]


@attrs.frozen
class Overflowing(Base):
    def propose(self, state, moment, rng):
        return np.where(moment.active, 1.7e308, 0.0) if moment.active.sum() > 1 else moment.weights


@attrs.frozen
class NoSteps(Base):
    def propose(self, state, moment, rng):
        return Proposal(moment.weights, steps=0)


@attrs.frozen
class LongNote(Base):
    def propose(self, state, moment, rng):
        return Proposal(moment.weights, notes={"score": np.zeros(99)})


@attrs.frozen
class GlobalDice(Base):
    def propose(self, state, moment, rng):
        return moment.active * np.random.random(len(moment.weights))


@attrs.frozen
class HiddenMemory(Base):
    seen: list = attrs.field(factory=list)

    def update(self, state, outcome):
        self.seen.append(outcome.phase)
        return state

    def propose(self, state, moment, rng):
        return moment.active / (1.0 + len(self.seen) * np.arange(len(moment.weights)))


@attrs.frozen
class CountsInPlace(Base):
    def update(self, state, outcome):
        state["losses"] += 1.0
        return state


@attrs.frozen
class WritesInPropose(Base):
    def propose(self, state, moment, rng):
        state["phases"] += 1
        return moment.weights


@attrs.frozen
class WritesItsInput(Base):
    def propose(self, state, moment, rng):
        weights = moment.weights
        weights += 0.1
        return weights


@attrs.frozen
class ListState(Base):
    def update(self, state, outcome):
        return {"phases": [outcome.phase], "losses": state["losses"]}


@attrs.frozen
class ObjectState(Base):
    def start(self, sources):
        return np.array([None] * len(sources))


@attrs.frozen
class Late:
    phase: int


@attrs.frozen
class LateClass(Base):
    def start(self, sources):
        return None

    def update(self, state, outcome):
        return Late(outcome.phase)


@attrs.frozen
class Fragile(Base):
    def update(self, state, outcome):
        if abs(outcome.reward).max() > 1e100:
            raise OverflowError("too large")
        return state


@attrs.frozen
class Positional(Base):
    """Gives the first source more, yet claims that the order does not matter."""

    traits = PolicyTraits(pull="mixed")

    def propose(self, state, moment, rng):
        return moment.active / (1.0 + np.arange(len(moment.weights)))


@attrs.frozen
class DrawsByPosition(Base):
    """Random, and the first source is drawn more often than the last, in law."""

    traits = PolicyTraits(pull="mixed")

    def propose(self, state, moment, rng):
        return moment.active * rng.random(len(moment.weights)) / (1.0 + np.arange(len(moment.weights)))


@attrs.frozen
class DrawsAlike(Base):
    """Random, but alike for all sources: equivariant in law, though not draw by draw."""

    traits = PolicyTraits(pull="mixed")


@attrs.frozen
class LoopsOverPairs(Base):
    def update(self, state, outcome):
        better = [sum(loss > other for other in outcome.loss) for loss in outcome.loss]
        return {"phases": state["phases"] + 1, "losses": np.array(better, dtype=float)}


@attrs.frozen
class TableOfPairs(Base):
    def propose(self, state, moment, rng):
        table = np.abs(moment.weights[:, None] - moment.weights[None, :])
        return moment.active * (1.0 + table.mean(axis=0))


@attrs.frozen
class NeedsTwo(Base):
    def propose(self, state, moment, rng):
        return moment.active * (moment.weights / moment.weights[1] + 1.0)


@attrs.frozen
class WantsReward(Base):
    """Divides by what it has been given so far, which may be nothing."""

    def update(self, state, outcome):
        return {"phases": int(outcome.reward.max() / np.count_nonzero(outcome.seen)), "losses": state["losses"]}


@attrs.frozen
class FollowsTheLedger(Base):
    """Divides by what was drawn, which is nothing before the first phase."""

    def propose(self, state, moment, rng):
        return moment.active / moment.ledger.drawn


@attrs.frozen
class Exponential(Base):
    def start(self, sources):
        return np.zeros(len(sources))

    def propose(self, state, moment, rng):
        return moment.active * np.exp(state)

    def update(self, state, outcome):
        return state + outcome.reward


@attrs.frozen
class Greedy(Base):
    needs = frozenset({"the answers"})


@attrs.define
class Open:
    """Not frozen, and not from Base: a frozen class's children are frozen too."""

    rate: float = 0.1
    needs = frozenset()
    start = propose = update = Base.start


class Plain:
    """No attrs class."""


@attrs.frozen
class Unfinished:
    needs = frozenset()

    def start(self, sources):
        return None


BAD = [
    (Negative(), r"Negative\.propose: gave source '.' the weight -0.*never negative"),
    (NotANumber(), "the weight nan; weights are finite"),
    (FeedsExcluded(), r"gave 1\.0 to source '.', which is excluded; mask it by `moment\.active`"),
    (Nothing(), "gave no source any weight"),
    (TooShort(), r"expected a vector of 4 numbers, one a source, got ndarray of shape \(3,\)"),
    (Overflowing(), "whose sum overflows"),
    (NoSteps(), "wishes a phase of 0 steps"),
    (LongNote(), r"note 'score' has shape \(99,\)"),
    (GlobalDice(), "equal state, moment and rng gave other weights"),
    (HiddenMemory(), "a second run from `start` went another way; keep all memory in the state"),
    (CountsInPlace(), "update: changed the state it was given; return a new one"),
    (WritesInPropose(), "propose: changed the state; only `update` makes a new one"),
    (WritesItsInput(), "inputs are read-only, work on a copy"),
    (ListState(), r"state\.phases holds a list, which no checkpoint can keep"),
    (ObjectState(), "start: state holds an array of object"),
    (LateClass(), "the state that `start` returns must have the classes of every later one"),
    (Fragile(), "Fragile.update: raised OverflowError: too large; an exception here stops the run"),
    (Positional(), "traits claim that renaming sources only renames weights; declare `equivariant=False`"),
    (DrawsByPosition(), "in one order of the sources and .* in another"),
    (TableOfPairs(), "bytes for 200 sources and .* leave out loops and tables over pairs"),
    (NeedsTwo(), "the weight (inf|nan); weights are finite"),
    (WantsReward(), r"WantsReward\.update: raised ValueError: cannot convert float NaN to integer.*every legal input"),
    (FollowsTheLedger(), "the weight (inf|nan); weights are finite"),
    (Exponential(), "gave no source any weight|the weight (inf|nan); weights are finite"),
    (Greedy(), "needs: asks for the answers; only"),
    (Open(), r"Open\.rate: can be changed; use `@attrs\.frozen`"),
    (Plain(), "no attrs class; decorate it"),
    (Unfinished(), r"Unfinished\.propose: is missing"),
]


@pytest.mark.parametrize("policy", [*GOOD, Base(), DrawsAlike()], ids=lambda policy: type(policy).__name__)
def test_policies_that_keep_the_contract_pass(policy):
    check_policy(policy)


@pytest.mark.parametrize(("policy", "message"), BAD, ids=lambda value: type(value).__name__)
def test_policies_that_break_the_contract_are_told_how(policy, message):
    with pytest.raises(AssertionError, match=message):
        check_policy(policy)


def test_a_policy_that_knows_its_sources_is_tried_with_them():
    check_policy(Fixed({"chat": 0.5, "irc": 0.5}), names=("chat", "irc"))
    with pytest.raises(AssertionError, match="no source is called 'chat'"):
        check_policy(Fixed({"chat": 0.5, "irc": 0.5}))


@pytest.mark.slow  # its instructions are counted one by one
def test_a_loop_over_pairs_of_sources_is_told_by_its_instructions():
    with pytest.raises(
        AssertionError, match=r"instructions for 200 sources and .*; work and memory must grow with the number"
    ):
        check_policy(LoopsOverPairs())
