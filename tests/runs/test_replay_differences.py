"""A replay that is not the record names where the two part, or what the record lacks."""

import math
import shutil

import numpy as np
import pytest
import zarr
from hypothesis import given, strategies as st

from andrea_core.errors import RunError
from andrea_core.runs.replay import Recorded, replayed, ulps_between, verdict_of
from andrea_core.runs.replay.asked import own_scenario
from andrea_core.runs.store import open_run


def verdict(folder):
    recorded = Recorded.of(open_run(folder))
    return verdict_of(recorded, replayed(own_scenario(folder), recorded, own=True))


def change(folder, array, index, by):
    """Change one number of a record."""
    stored = zarr.open_array(folder / "run.zarr" / array, mode="a")
    stored[index] = by(stored[index])


@pytest.mark.parametrize("array", ["weights", "requested", "lower", "owed", "reward", "epochs"])
def test_one_unit_in_the_last_place_is_found_with_its_phase_and_source(run, array):
    phase, source = 2, 1 if array in ("weights", "requested") else 0
    change(run, f"phases/{array}", (phase, source), lambda value: np.nextafter(value, np.inf))
    first = verdict(run).first

    # A weight goes into the observation, so the phase in which it stands is the first that can differ.
    assert (first.phase, first.array, first.source, first.ulps) == (
        phase, array, open_run(run).sources[source], 1
    )  # fmt: skip
    assert first.step == open_run(run).phases["start"][phase]


def test_a_loss_that_is_changed_changes_what_was_learnt_from_it(run):
    change(run, "steps/row_loss", (0, 0), lambda value: np.nextafter(value, np.float32(np.inf)))
    first = verdict(run).first

    assert (first.phase, first.array) == (0, "loss")
    assert first.ulps > 0


def test_another_phase_length_and_another_policy_are_differences(run):
    change(run, "phases/policy", 1, lambda code: 1 - code)

    assert verdict(run).first.array == "policy"


def test_a_row_of_another_source_is_damage(run):
    change(run, "steps/row_source", (0, 0), lambda source: 2 - source)

    with pytest.raises(RunError, match="phase 0 did not train the tokens that its rows have"):
        verdict(run)


def test_an_older_record_says_what_it_lacks(run):
    for name in ("row_loss", "row_source"):
        shutil.rmtree(run / "run.zarr" / "steps" / name)

    with pytest.raises(RunError, match="the record lacks the losses of single rows, which an older andrea"):
        verdict(run)


def test_a_record_that_an_older_andrea_began_says_up_to_which_step(run):
    change(run, "steps/row_loss", slice(0, 7), lambda block: np.full_like(block, np.nan))

    with pytest.raises(RunError, match="of its first 7 steps"):
        verdict(run)


def test_a_run_without_a_finished_phase_has_nothing_to_replay(run):
    shutil.rmtree(run / "run.zarr" / "phases")

    with pytest.raises(RunError, match="no phase of this run is finished yet"):
        verdict(run)


@given(st.floats(-1e308, 1e308), st.integers(0, 50))
def test_ulps_count_the_floats_between(number, count):
    other = number
    for _ in range(count):
        other = math.nextafter(other, math.inf)
    crosses = math.copysign(1, number) != math.copysign(1, other)  # nextafter passes over one of the two zeros

    assert ulps_between(number, other) == ulps_between(other, number) == count + crosses


def test_no_number_is_no_count_away_from_a_number():
    assert ulps_between(math.nan, 1.0) is None
    assert ulps_between(math.nan, -math.nan) == 0
    assert ulps_between(1.0, 1.0) == 0
