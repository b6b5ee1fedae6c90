"""The reward check: built-in rewards pass, and each way to break the contract is told apart with advice."""

import attrs
import numpy as np
import pytest

from andrea_core import RewardTraits
from andrea_core.testing import check_reward
from andrea_plugins.rewards import Improvement, Loss


@attrs.frozen
class Heldout:
    """A legal reward that needs the held-out loss: its fall since the last phase."""

    needs = frozenset({"heldout"})

    def start(self, sources):
        return np.full(len(sources), np.nan)

    def score(self, state, observation, rng):
        return state - observation.heldout, np.array(observation.heldout)


@attrs.frozen
class Infinite(Heldout):
    def score(self, state, observation, rng):
        return np.full(len(state), np.inf), state


@attrs.frozen
class NoPair(Heldout):
    def score(self, state, observation, rng):
        return observation.loss_by_source()


@attrs.frozen
class PerRow(Heldout):
    def score(self, state, observation, rng):
        return observation.loss.ravel()[:1], state


@attrs.frozen
class InPlace(Heldout):
    def score(self, state, observation, rng):
        state[:] = observation.loss_by_source()
        return np.array(state), state


@attrs.frozen
class Unmeasured(Heldout):
    needs = frozenset()


@attrs.frozen
class Random(Heldout):
    def score(self, state, observation, rng):
        return np.random.random(len(state)), state


@attrs.frozen
class Secretive(Heldout):
    past: list = attrs.field(factory=list)

    def score(self, state, observation, rng):
        if observation.step not in self.past[-1:]:
            self.past.append(observation.step)
        return np.full(len(state), float(len(self.past))), state


@attrs.frozen
class ComparesPairs(Heldout):
    def score(self, state, observation, rng):
        loss = observation.loss_by_source()
        return np.nanmean(np.append(loss, 0.0)) + (loss[:, None] - loss[None, :]).mean(axis=0) * 0, state


@attrs.frozen
class Boastful(Heldout):
    traits = RewardTraits(range=(0.0, 0.5))

    def score(self, state, observation, rng):
        return observation.loss_by_source(), state


@attrs.frozen
class TrustsTheAfter(Heldout):
    """Reads what it did not ask for."""

    needs = frozenset()

    def score(self, state, observation, rng):
        return np.full(len(state), observation.loss_after.mean()), state


@attrs.frozen
class WholeRow(Heldout):
    """Takes for granted that every source was seen."""

    def score(self, state, observation, rng):
        return 1.0 / (np.isfinite(observation.loss_by_source()) - 0.0), state


@pytest.mark.parametrize(
    "reward", [Improvement(), Improvement(form="andrea"), Improvement(normaliser="none"), Loss(), Heldout()], ids=repr
)
def test_rewards_that_keep_the_contract_pass(reward):
    check_reward(reward)


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        (ComparesPairs(), "bytes for 200 sources and .* leave out loops and tables over pairs"),
        (Boastful(), r"outside of the range .* that its traits declare; widen the range, or clip"),
        (TrustsTheAfter(), r"TrustsTheAfter\.score: raised AttributeError"),
        (WholeRow(), "the reward inf; use NaN where there is none"),
        (Infinite(), "the reward inf; use NaN where there is none"),
        (NoPair(), r"expected the pair \(scores, next state\), got ndarray"),
        (PerRow(), r"expected 4 numbers, one a source, got shape \(1,\)"),
        (InPlace(), "changed the state it was given; return a new one"),
        (Unmeasured(), "Unmeasured.score: raised TypeError"),
        (Random(), "equal state, observation and rng gave other rewards"),
        (Secretive(), "a second run from `start` went another way"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_rewards_that_break_the_contract_are_told_how(reward, message):
    with pytest.raises(AssertionError, match=message):
        check_reward(reward)
