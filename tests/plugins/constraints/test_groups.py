"""The constraint set groups: bounds on sums of disjoint groups, refused where they overlap, kept through a run."""

import math
import re

import numpy as np
import pytest

from andrea_core import Group, InfeasibleRegion, Region, ScenarioError
from andrea_core.assembly import new_run
from andrea_core.progress import Progress
from andrea_core.runs.store import open_run
from andrea_core.scenario import load
from andrea_core.testing import check_constraint_set
from andrea_core.testing.worlds import make_context, make_sources
from andrea_plugins.constraints import Floors, GroupBound, Groups

NAMES = ("a", "b", "c", "d")


def restricted(*sets):
    region = Region.of(NAMES)
    for one in sets:
        region = one.restrict(region, make_context(make_sources(NAMES), 0, np.random.default_rng(0)))
    return region


def test_groups_keep_their_contract():
    check_constraint_set(Groups((GroupBound(("a", "b"), 0.3, 0.8),)), examples=6, many=30)


def test_a_group_bounds_the_sum_of_its_sources():
    region = restricted(Groups((GroupBound(("a", "b"), 0.5, 0.8),)))

    assert region.vertex([3, 2, 1, 0]).tolist() == [0.8, 0.0, 0.19999999999999996, 0.0]
    assert region.project([0, 0, 1, 0]).tolist() == [0.25, 0.25, 0.5, 0.0]


def test_equal_groups_of_two_sets_are_intersected():
    both = restricted(Groups((GroupBound(("a", "b"), 0.2, 0.8),)), Groups((GroupBound(("b", "a"), 0.3, 0.9),)))

    assert [(group.at_least, group.at_most) for group in both.stated.groups] == [(0.3, 0.8)]


def test_overlapping_groups_are_refused_toward_linear():
    with pytest.raises(ValueError, match=r"source 'b' is in two groups.*'linear'"):
        Groups((GroupBound(("a", "b"), 0.5), GroupBound(("b", "c"), 0.5)))
    with pytest.raises(ScenarioError, match=r"a \+ b and b \+ c share b.*constraint set 'linear'"):
        restricted(Groups((GroupBound(("a", "b"), 0.5),)), Groups((GroupBound(("b", "c"), 0.5),)))


def test_a_clash_names_group_floor_and_stage():
    with pytest.raises(InfeasibleRegion) as caught:
        restricted(Groups((GroupBound(("a", "b"), 0.6),)), Floors({"c": 0.5}))

    assert "group floor 0.6 of a + b (stage 'trial') and floor 0.5 of c" in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sources": ()}, "at least one source"),
        ({"sources": ("a", "a")}, "'a' twice"),
        ({"sources": ("a",), "at_least": 0.6, "at_most": 0.5}, "at_least 0.6 is more than at_most 0.5"),
        ({"sources": ("a",), "at_most": 1.5}, "at_most must be at most 1"),
    ],
)
def test_settings_without_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        GroupBound(**settings)


def test_an_unknown_source_is_named_with_its_stage():
    with pytest.raises(ScenarioError, match=re.escape("groups of stage 'trial': no source is called 'e'")):
        restricted(Groups((GroupBound(("a", "e"), 0.5),)))


def test_a_group_is_a_public_value():
    assert Group("a", at_most=0.5) == Group(("a",), 0.0, 0.5)


def test_every_phase_of_a_run_keeps_the_group_bound(tiny, tmp_path):
    group = '{ use = "groups", groups = [{ sources = ["clocks", "ships"], at_least = 0.5, at_most = 0.75 }] },'
    text = tiny.read_text(encoding="utf-8").replace('name = "all"\n', f'name = "all"\nconstraints = [{group}]\n')
    tiny.write_text(text, encoding="utf-8")
    experiment = new_run(load(tiny), tmp_path / "run", Progress(), device="cpu", threads=1)
    experiment.run()
    experiment.folder.release()
    phases = open_run(tmp_path / "run").phases
    start = np.asarray(phases["start"])
    inside = np.asarray(phases["weights"])[(start >= 12) & (start < 26)]

    assert len(inside) > 1
    for w in inside:
        assert 0.5 - math.ulp(0.5) <= math.fsum(w[1:].tolist()) <= 0.75 + math.ulp(0.75)
        assert math.fsum(w.tolist()) == 1.0
