"""The constraint set epoch_cap: a source that has been seen often enough is taken out."""

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core import InfeasibleRegion, Ledger, Region, ScenarioError
from andrea_core.simplex.retiring import dropped, retire
from andrea_core.testing import check_constraint_set
from andrea_core.testing.geometry import feasible_bounds
from andrea_core.testing.worlds import make_context, make_sources
from andrea_plugins.constraints import EpochCap

NAMES = ("H", "G", "D")


def seen(epochs, names=NAMES):
    context = make_context(make_sources(names), 0, np.random.default_rng(0))
    count = np.zeros(len(names), np.int64)
    return attrs.evolve(context, ledger=Ledger(count, count, np.array(epochs, float)))


def test_a_source_at_the_cap_is_excluded_and_the_reason_says_how_often_it_was_seen():
    region = EpochCap(5).restrict(Region.of(NAMES), seen([1.0, 4.99, 5.0]))

    assert region.upper.tolist() == [1.0, 1.0, 0.0]
    assert region.upper_reasons[2] == "seen 5 times, epoch cap 5"
    assert dropped(region) == []


def test_only_the_named_sources_are_watched():
    region = EpochCap(5, sources=("G",)).restrict(Region.of(NAMES), seen([9, 9, 9]))

    assert region.upper.tolist() == [1.0, 0.0, 1.0]


def test_a_clash_with_a_floor_drops_the_floor_and_tells_it():
    floored = Region.of(NAMES, floors={"H": 0.7, "G": 0.1}, reason="stage 'polish'")
    region = EpochCap(5).restrict(floored, seen([5.25, 0, 0]))

    assert region.lower.tolist() == [0.0, 0.1, 0.0]
    assert region.upper[0] == 0.0
    assert dropped(region) == ["floor 0.7 of H (stage 'polish') dropped: seen 5.25 times, epoch cap 5"]
    assert region.lower_reasons[0] == dropped(region)[0]


def test_a_clash_may_stop_the_run_and_the_message_says_what_to_do():
    floored = Region.of(NAMES, floors={"H": 0.7}, reason="stage 'polish'")
    with pytest.raises(InfeasibleRegion) as caught:
        EpochCap(5, on_clash="stop").restrict(floored, seen([5.25, 0, 0]))

    for words in ("floor 0.7 of H (stage 'polish')", "seen 5.25 times", "raise the epoch cap", "drop_floor"):
        assert words in str(caught.value)
    assert [bound.source for bound in caught.value.clash] == ["H"]


def test_stop_does_not_mind_a_source_without_a_floor():
    assert EpochCap(5, on_clash="stop").restrict(Region.of(NAMES), seen([5, 0, 0])).upper[0] == 0.0


@pytest.mark.parametrize("on_clash", ["drop_floor", "stop"])
def test_when_no_source_is_left_the_message_names_them(on_clash):
    with pytest.raises(InfeasibleRegion, match=r"leaves no source: H \(seen 6 times, epoch cap 5\), G .*, D"):
        EpochCap(5, on_clash=on_clash).restrict(Region.of(NAMES), seen([6, 7, 8]))


def test_caps_that_need_the_source_are_explained():
    capped = Region.of(NAMES, caps={"G": 0.3, "D": 0.3})
    with pytest.raises(InfeasibleRegion, match=r"exclusion of H \(seen 5 times, epoch cap 5\) leave room for 0.6"):
        EpochCap(5).restrict(capped, seen([5, 0, 0]))


def test_a_floor_of_1_that_goes_makes_room_for_the_others_but_for_the_exhausted_ones():
    pinned = Region.of(NAMES, floors={"H": 1.0})
    region = EpochCap(5).restrict(pinned, seen([5, 6, 0]))

    assert region.upper.tolist() == [0.0, 0.0, 1.0]


def test_an_unknown_source_is_named():
    with pytest.raises(ScenarioError, match="epoch_cap of stage 'trial': no source is called 'h'"):
        EpochCap(5, sources=("h",)).restrict(Region.of(NAMES), seen([0, 0, 0]))
    with pytest.raises(ScenarioError, match="unknown source 'h'; known are H, G, D"):
        retire(Region.of(NAMES), {"h": "gone"})


@given(data=st.data(), stated=feasible_bounds(2, 6))
def test_what_is_left_is_the_region_without_the_exhausted_sources(data, stated):
    region = stated.region()
    epochs = data.draw(st.lists(st.sampled_from([0.0, 4.0, 5.0, 1e9]), min_size=len(region.names)))
    epochs = epochs[: len(region.names)]
    gone = {name for name, count in zip(region.names, epochs, strict=True) if count >= 5}
    try:
        left = EpochCap(5).restrict(region, seen(epochs, region.names))
    except InfeasibleRegion:
        caps = dict.fromkeys(region.names, 1.0) | stated.caps | dict.fromkeys((*stated.exclude, *gone), 0.0)
        assert sum(caps.values()) < 1 - 1e-13
        return
    kept = {name: floor for name, floor in stated.floors.items() if name not in gone}
    plain = Region.of(region.names, kept, stated.caps, (*stated.exclude, *gone))

    assert left.lower.tolist() == plain.lower.tolist()
    assert left.upper.tolist() == plain.upper.tolist()


def test_it_foresees_what_floors_imply():
    sources = make_sources(NAMES)
    said = EpochCap(5, sources=("H", "G")).foresee(np.array([6.25, 4.0, 9.0]), sources)

    assert said == [
        "the floors of H alone imply 6.25 epochs of it, the epoch cap is 5: the floor will be dropped",
    ]
    assert "the run will stop" in EpochCap(5, on_clash="stop").foresee(np.array([6.0, 0, 0]), sources)[0]


@pytest.mark.parametrize("epochs", [1.0, 5.0, 9.5])
def test_it_keeps_the_contract_of_constraint_sets(epochs):
    check_constraint_set(EpochCap(epochs, sources=("a", "b", "c")), names=("a", "b", "c", "d"))
