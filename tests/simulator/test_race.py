"""Races: controls always run, paired intervals, no dependence on processes, files that others can read."""

import csv
import io
import json
import math
import xml.etree.ElementTree as ElementTree

import pytest

from andrea_core.errors import AndreaError, ScenarioError
from andrea_core.simulator.forest import forest
from andrea_core.simulator.race import Ground, Heat, entrants, learns, listed, race
from andrea_core.simulator.standings import Estimate, as_csv, as_json, from_csv, markdown, milli, standings, summary
from andrea_core.simulator.verdict import Verdict


def heats(**regrets):
    return [
        Heat(name, seed, Verdict(2.0 + r, r, r + 0.01, 2.5, None if r > 0.2 else 100, 0.1))
        for name, values in regrets.items()
        for seed, r in enumerate(values)
    ]


def test_the_controls_run_whoever_is_asked_for():
    assert entrants(["ucb1", "random"]) == ("ucb1", "random", "uniform", "proportional")


def test_a_race_is_the_same_in_one_process_and_in_two(little):
    ground = Ground(little, "transfer")
    one, two = (race(ground, ("ucb1", "uniform"), range(3), jobs=jobs) for jobs in (1, 2))

    assert [(h.policy, h.seed, h.verdict.loss) for h in one] == [(h.policy, h.seed, h.verdict.loss) for h in two]
    assert len({heat.verdict.loss for heat in one if heat.policy == "ucb1"}) == 3


def test_a_policy_that_cannot_run_ends_the_race_with_its_name(little):
    with pytest.raises(AndreaError, match=r"policy unimax: policy\.budget"):
        race(Ground(little, "transfer"), ("unimax",), range(2))


def test_a_reference_model_is_what_uniform_weights_end_with(little):
    found = Ground(little, "transfer").loaded("doremi(reference=@uniform)").scenario.policy.component.reference

    assert list(found) == ["birds", "clocks", "ships"]
    assert all(1 < loss < 9.04 for loss in found.values())


def test_settings_of_a_policy_stand_in_brackets(little):
    ground = Ground(little, "transfer")

    assert listed("ucb1(c=2, step=0.25) , exp3") == ["ucb1(c=2, step=0.25)", "exp3"]
    assert ground.loaded("ucb1(c=2, step=0.25)").scenario.policy.component.step == 0.25
    with pytest.raises(ScenarioError, match="write a name, or a name with settings"):
        ground.loaded("ucb1(c=2")


def test_who_learns_is_what_the_policy_declares(little):
    ground = Ground(little, "transfer")

    assert [learns(ground.loaded(name)) for name in ("ucb1", "odm", "random", "uniform")] == [True, True, False, False]


def test_intervals_are_students_on_paired_differences():
    rows = standings(heats(uniform=[0.1, 0.3], good=[0.05, 0.27], random=[0.5, 0.1]), {"good": True})
    good = next(row for row in rows if row.policy == "good")

    assert [row.policy for row in rows] == ["good", "uniform", "random"]
    assert good.over_uniform.mean == pytest.approx(-0.04)
    assert good.over_uniform.half == pytest.approx(12.706204736 * 0.01, rel=1e-6)  # t(1, .975) times 0.01414 / sqrt 2
    assert good.over_static == Estimate(pytest.approx(-0.01), pytest.approx(0.0, abs=1e-12))
    assert good.word == "undecided"


def test_a_difference_is_called_one_when_its_interval_excludes_zero():
    rows = standings(heats(uniform=[0.1, 0.1, 0.1], good=[0.05, 0.051, 0.049], bad=[0.3, 0.31, 0.32]), {"good": True})

    assert {row.policy: row.word for row in rows} == {"good": "better", "uniform": "-", "bad": "worse"}
    assert summary(rows).startswith("1 of 1 policies that learn have a lower mean regret than uniform weights, 1 of")


def test_a_single_seed_has_no_interval_and_decides_nothing():
    (row, *_) = standings(heats(uniform=[0.1], good=[0.05]), {})

    assert math.isnan(row.regret.half)
    assert row.word == "undecided"
    assert summary([row]).endswith("one seed says nothing of others.")


def test_tables_and_figure_hold_every_policy_and_parse():
    found = heats(uniform=[0.1, 0.3], good=[0.05, 0.27])
    rows = standings(found, {"good": True})
    picture = ElementTree.fromstring(forest(rows, "a < b"))
    texts = [node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")]

    assert [line.split("|")[1].strip() for line in markdown(rows).splitlines()] == ["policy", "---", "good", "uniform"]
    assert {"good", "uniform", "a < b"} <= set(texts)
    assert [row["regret"] for row in csv.DictReader(io.StringIO(as_csv(found)))] == ["0.1", "0.3", "0.05", "0.27"]
    assert json.loads(as_json(rows, {"seeds": [0, 1]}))["policies"][1]["to_target"] is None


def test_runs_that_were_written_down_are_read_again_number_for_number():
    found = heats(uniform=[1 / 3, 0.3], good=[0.05, 0.1 + 0.2])

    assert from_csv(as_csv(found)) == found
    assert from_csv(as_csv(found)[:-9]) == found[:-1]


def test_what_rounds_to_nothing_has_no_sign():
    assert milli(Estimate(-1e-5, 1e-6)) == "0.0 ± 0.0"
    assert milli(Estimate(-6e-5, 1e-4)) == "-0.1 ± 0.1"
