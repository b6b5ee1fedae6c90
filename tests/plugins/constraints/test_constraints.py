"""The constraint sets floors, caps and exclude."""

import re

import numpy as np
import pytest

from andrea_core import InfeasibleRegion, Region, ScenarioError
from andrea_core.testing.worlds import make_context, make_sources
from andrea_plugins.constraints import Caps, Exclude, Floors

NAMES = ("H", "G", "D")


def restricted(*sets, names=NAMES):
    context = make_context(make_sources(names), 0, np.random.default_rng(0))
    region = Region.of(names)
    for constraint in sets:
        region = constraint.restrict(region, context)
    return region


def test_floors_and_caps_cut_the_seed_lessons_quadrilateral():
    region = restricted(Floors({"H": 0.5}), Caps({"D": 0.25}))

    assert {tuple(v) for v in region.vertices()} == {(1, 0, 0), (0.5, 0.5, 0), (0.5, 0.25, 0.25), (0.75, 0, 0.25)}


def test_exclude_takes_a_dimension_for_each_source():
    region = restricted(Exclude(("G",)))

    assert region.dimension == 1
    assert region.upper.tolist() == [1.0, 0.0, 1.0]


def test_order_does_not_matter():
    sets = [Floors({"H": 0.4}), Caps({"D": 0.3}), Exclude(("G",))]
    forward, backward = restricted(*sets), restricted(*reversed(sets))

    assert forward.lower.tolist() == backward.lower.tolist()
    assert forward.upper.tolist() == backward.upper.tolist()


def test_a_clash_names_the_sources_and_the_stage():
    with pytest.raises(InfeasibleRegion, match=re.escape("stage 'trial'")) as caught:
        restricted(Floors({"H": 0.7, "G": 0.6}))

    assert "H" in str(caught.value)
    assert "G" in str(caught.value)


@pytest.mark.parametrize("constraint", [Floors({"h": 0.1}), Caps({"h": 0.1}), Exclude(("h",))])
def test_an_unknown_source_is_named_with_its_stage(constraint):
    kind = type(constraint).__name__.lower()
    with pytest.raises(ScenarioError, match=f"{kind} of stage 'trial': no source is called 'h'"):
        restricted(constraint)


@pytest.mark.parametrize("bound", [-0.1, 1.1, float("nan")])
@pytest.mark.parametrize("kind", [Floors, Caps])
def test_bounds_outside_0_to_1_are_refused(kind, bound):
    with pytest.raises(ValueError, match="H must be between 0 and 1"):
        kind({"H": bound})


def test_none_depends_on_the_present_weights():
    assert not any(kind.around_weights for kind in (Floors, Caps, Exclude))
