"""The constraint set linear: any linear bound, overlapping groups among them, kept through a run."""

import math
import re

import numpy as np
import pytest

from andrea_core import InfeasibleRegion, Region, ScenarioError
from andrea_core.assembly import new_run
from andrea_core.progress import Progress
from andrea_core.runs.store import open_run
from andrea_core.scenario import load
from andrea_core.testing import check_constraint_set
from andrea_core.testing.worlds import make_context, make_sources
from andrea_plugins.constraints import Caps, Floors, Linear, LinearBound

NAMES = ("a", "b", "c", "d")
TWICE = LinearBound({"a": 1, "b": -2}, at_most=0)


def restricted(*sets):
    region = Region.of(NAMES)
    for one in sets:
        region = one.restrict(region, make_context(make_sources(NAMES), 0, np.random.default_rng(0)))
    return region


def test_linear_keeps_its_contract():
    check_constraint_set(Linear((TWICE,)), examples=6, many=30)


def test_a_row_bounds_one_source_by_another():
    region = restricted(Linear((TWICE,)))

    w = region.vertex([1, 0, 0, 0])
    np.testing.assert_allclose(w, [2 / 3, 1 / 3, 0, 0], atol=1e-9)
    assert region.approximate


def test_overlapping_groups_are_rows():
    overlapping = Linear((LinearBound({"a": 1, "b": 1}, at_most=0.5), LinearBound({"b": 1, "c": 1}, at_most=0.5)))
    w = restricted(overlapping).project([0, 1, 0, 0])

    np.testing.assert_allclose(w, [0, 0.5, 0, 0.5], atol=1e-9)


def test_floors_and_caps_hold_bitwise_beside_rows_in_any_order():
    sets = (Floors({"a": 0.1}), Linear((TWICE,)), Caps({"b": 0.3}))
    for order in (sets, sets[::-1]):
        region = restricted(*order)
        for w in (region.centre, region.project([1, 0, 0, 0]), region.sample(np.random.default_rng(0))):
            assert w[0] >= 0.1
            assert w[1] <= 0.3
            assert w[0] - 2 * w[1] <= 1e-9
            assert math.fsum(w.tolist()) == 1.0


def test_a_clash_names_the_rows_and_bounds_that_take_part_and_no_other():
    with pytest.raises(InfeasibleRegion) as caught:
        restricted(Floors({"a": 0.5, "d": 0.1}), Caps({"b": 0.2, "c": 0.9}), Linear((TWICE,)))

    assert {(bound.kind, bound.source) for bound in caught.value.clash} == {
        ("floor", "a"),
        ("cap", "b"),
        ("row cap", "a - 2 b"),
    }
    assert caught.value.excess == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"coefficients": {}, "at_most": 1}, "at least one number other than 0"),
        ({"coefficients": {"a": 0.0}, "at_most": 1}, "at least one number other than 0"),
        ({"coefficients": {"a": float("nan")}, "at_most": 1}, "coefficients.a must be finite"),
        ({"coefficients": {"a": 1}}, "needs at_least or at_most"),
        ({"coefficients": {"a": 1}, "at_least": 0.6, "at_most": 0.5}, "at_least 0.6 is more than at_most 0.5"),
    ],
)
def test_settings_without_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        LinearBound(**settings)


def test_an_unknown_source_is_named_with_its_stage():
    with pytest.raises(ScenarioError, match=re.escape("linear of stage 'trial': no source is called 'e'")):
        restricted(Linear((LinearBound({"e": 1}, at_most=0.5),)))


def with_rows(tiny, coefficients):
    rows = f'{{ use = "linear", rows = [{{ coefficients = {coefficients}, at_most = 0 }}] }}'
    text = tiny.read_text(encoding="utf-8").replace('name = "all"\n', f'name = "all"\nconstraints = [{rows}]\n')
    tiny.write_text(text, encoding="utf-8")
    return tiny


def test_an_unknown_source_in_a_scenario_is_refused_when_it_is_loaded(tiny):
    with pytest.raises(ScenarioError, match=r"constraints\[0\].rows\[0\].coefficients.*did you mean 'ships'"):
        load(with_rows(tiny, "{ ship = 1.0 }"))


def test_every_phase_of_a_run_keeps_the_rows(tiny, tmp_path):
    scenario = with_rows(tiny, "{ birds = 1.0, ships = -2.0 }")
    experiment = new_run(load(scenario), tmp_path / "run", Progress(), device="cpu", threads=1)
    experiment.run()
    experiment.folder.release()
    phases = open_run(tmp_path / "run").phases
    start = np.asarray(phases["start"])
    inside = np.asarray(phases["weights"])[(start >= 12) & (start < 26)]

    assert len(inside) > 1
    assert (inside[:, 0] - 2 * inside[:, 2] <= 2e-9).all()
    assert all(math.fsum(w.tolist()) == 1.0 for w in inside)
