"""The competence curriculum: openings where the paper's equations put them, names, scaling, refusals."""

import pytest

from andrea_core import ScenarioError
from andrea_core.reshaping import scaled
from andrea_core.testing import check_curriculum
from andrea_core.testing.worlds import make_sources
from andrea_plugins.curricula import Competence

FOUR = {"a": 4.0, "b": 1.0, "c": 2.0, "d": 3.0}
NAMES = ("a", "b", "c", "d")


def competence(t, total, c0, power):
    return min(1.0, (t * (1 - c0**power) / total + c0**power) ** (1 / power))


@pytest.mark.parametrize(("pacing", "power"), [("linear", 1), ("root", 2)])
@pytest.mark.parametrize("c0", [0.01, 0.3, 0.6])
def test_a_source_is_open_exactly_while_its_rank_is_within_the_competence_of_the_paper(pacing, power, c0):
    curriculum = Competence(FOUR, 997, pacing=pacing, initial=c0)
    ranks = {"b": 0.25, "c": 0.5, "d": 0.75, "a": 1.0}

    for step in range(0, 1100, 7):
        stage = curriculum.stage(NAMES, step)
        expected = {name for name, rank in ranks.items() if rank <= competence(step, 997, c0, power) or name == "b"}
        assert set(stage.sources or NAMES) == expected


def test_root_pacing_gives_new_sources_ever_more_time_and_linear_pacing_the_same():
    root = [start for start, _ in Competence(FOUR, 1600, initial=1e-9).openings(NAMES)]
    linear = [start for start, _ in Competence(FOUR, 1600, pacing="linear", initial=1e-9).openings(NAMES)]

    assert root == [0, 400, 900, 1600]
    assert linear == [0, 800, 1200, 1600]


def test_each_opening_is_a_stage_of_its_own_with_the_sources_in_the_experiments_order():
    curriculum = Competence(FOUR, 1600, initial=1e-9)
    stages = [curriculum.stage(NAMES, start) for start in (0, 400, 900, 1600)]

    assert [stage.name for stage in stages] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
    assert [stage.sources for stage in stages] == [("b",), ("b", "c"), ("b", "c", "d"), None]
    assert [stage.until for stage in stages[:3]] == [400, 900, 1600]


def test_equal_difficulties_open_together():
    openings = Competence({"a": 1.0, "b": 1.0, "c": 5.0, "d": 5.0}, 100).openings(NAMES)

    assert [opened for _, opened in openings] == [("a", "b"), NAMES]


def test_scaling_moves_the_openings_and_merges_those_that_coincide():
    curriculum = Competence(FOUR, 1600, initial=1e-9)

    assert [start for start, _ in scaled(curriculum, 0.5).openings(NAMES)] == [0, 200, 450, 800]
    assert [start for start, _ in scaled(curriculum, 1 / 1600).openings(NAMES)] == [0, 1]


def test_a_source_without_a_difficulty_and_an_unknown_one_are_refused():
    with pytest.raises(ScenarioError, match="difficulty: no number for c, d; give every source"):
        Competence({"a": 1.0, "b": 2.0}, 10).start(make_sources(NAMES))
    with pytest.raises(ScenarioError, match="difficulty: e: no such source; give every source"):
        Competence({**FOUR, "e": 2.0}, 10).start(make_sources(NAMES))


@pytest.mark.parametrize("pacing", ["root", "linear"])
def test_it_keeps_the_contract(pacing):
    check_curriculum(Competence(FOUR, 1500, pacing=pacing), steps=2000)
