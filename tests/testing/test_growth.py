"""Growth checks: a plugin of each kind that is quadratic on purpose is told, and what to do instead."""

import attrs
import numpy as np
import pytest

from andrea_core import Stage
from andrea_core.testing import check_curriculum, check_policy, check_reward

GRADIENTS = frozenset({"source_gradients"})


@attrs.frozen
class Course:
    def start(self, sources):
        return 0

    def stage(self, state, step):
        return Stage("all", 0, 2**62)

    def update(self, state, outcome, findings):
        return state + 1


@attrs.frozen
class TableOfPairs(Course):
    def start(self, sources):
        return np.zeros((len(sources), len(sources)))

    def update(self, state, outcome, findings):
        return state + np.nan_to_num(outcome.loss)[:, None]


@attrs.frozen
class CountsPairs(Course):
    def update(self, state, outcome, findings):
        return state + sum(1 for one in outcome.loss for other in outcome.loss if one > other)


@attrs.frozen
class Score:
    needs = frozenset()

    def start(self, sources):
        return None

    def score(self, state, observation, rng):
        loss = observation.loss_by_source().tolist()
        return np.array([float(sum(one > other for other in loss)) for one in loss]), state


@attrs.frozen
class Triples(Score):
    needs = GRADIENTS

    def score(self, state, observation, rng):
        near = np.nan_to_num(observation.gradients.train) > 0
        return (near[:, :, None] & near[None]).sum((1, 2)).astype(float), state


@attrs.frozen
class GradientPairs(Score):
    needs = GRADIENTS

    def score(self, state, observation, rng):
        table = observation.gradients.train.tolist()
        return np.array([float(sum(number > 0 for number in row)) for row in table]), state


@attrs.frozen
class TripleWeights:
    needs = GRADIENTS

    def start(self, sources):
        return None

    def propose(self, state, moment, rng):
        return moment.region.centre

    def update(self, state, outcome):
        near = np.nan_to_num(outcome.observation.gradients.train) > 0
        (near[:, :, None] & near[None]).sum()
        return state


@pytest.mark.parametrize(
    ("check", "plugin", "message"),
    [
        (check_curriculum, TableOfPairs(), "bytes for 200 sources and .* leave out loops and tables over pairs"),
        (check_reward, Triples(), r"tables of K\^2 numbers: .* without tables over triples"),
        (check_policy, TripleWeights(), r"tables of K\^2 numbers: .* without tables over triples"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_tables_that_outgrow_their_sources_are_told_by_their_bytes(check, plugin, message):
    with pytest.raises(AssertionError, match=message):
        check(plugin)


@pytest.mark.slow  # instructions are counted one by one
@pytest.mark.parametrize(
    ("check", "plugin", "message"),
    [
        (check_curriculum, CountsPairs(), "instructions for 200 sources and .* leave out loops and tables over pairs"),
        (check_reward, Score(), "instructions for 200 sources and .* leave out loops and tables over pairs"),
        (
            check_reward,
            GradientPairs(),
            "instructions for 200 sources and .* array operations, without loops over pairs",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_loops_over_pairs_are_told_by_their_instructions(check, plugin, message):
    with pytest.raises(AssertionError, match=message):
        check(plugin)


def test_a_curriculum_that_is_linear_passes():
    check_curriculum(Course(), steps=2000)
