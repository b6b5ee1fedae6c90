"""The cliff on real text at laptop size: a planted document is named and judged, and clean runs are let alone."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import planted_document
import pytest

from andrea_core import open_run

pytestmark = pytest.mark.study

SCENARIOS = Path(os.environ.get("ANDREA_EXAMPLES", Path(__file__).parents[2])) / "scenarios"
PLANTED = """
extends = "{scenarios}/base.toml"
name = "planted"
seed = 1
run = {{ steps = 60_000 }}
sources.repo-docs = {{ use = "planted", before = 312, copies = 5000 }}  # the 26th document in the order of seed 1
policy = {{ use = "uniform" }}
[curriculum]
use = "staged"
[[curriculum.stages]]
name = "mixed"
until = 25_000
[[curriculum.stages]]
name = "parked"
constraints = [{{ use = "floors", floors = {{ repo-docs = 0.8 }} }}]
[profiles.laptop]
probes = [{{ use = "cliff", every = 1 }}]
"""
CLEAN = """
extends = "{scenarios}/v3_polish.toml"
[profiles.laptop]
probes = [{{ use = "cliff", every = 1 }}]
"""


def finished(folder, scenario, *arguments):
    path = folder / "scenario.toml"
    path.write_text(scenario.format(scenarios=SCENARIOS.as_posix()))
    command = [sys.executable, "-m", "andrea_core", "run", path, "--threads", 1, "--out", folder / "run", *arguments]
    subprocess.run([*map(str, command)], check=True, stdout=subprocess.DEVNULL)
    return open_run(folder / "run")


def told(run):
    """Return the cliff probe's events: verdict, source, the step they began at, the step they were told after."""
    cliff = run.probes["cliff"]
    columns = (cliff[name] for name in ("verdict", "source", "at", "step"))
    return [(str(name), str(of), at, int(step)) for name, of, at, step in zip(*columns, strict=True) if str(name)]


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return finished(tmp_path_factory.mktemp("planted"), PLANTED, "--plugin", planted_document.__file__)


def losses(run):
    """Return the mean loss (steps,) of repo-docs' rows in nats a token, NaN in steps without any."""
    mine = run.steps["row_source"] == run.sources.index("repo-docs")
    loss = np.where(mine, run.steps["row_loss"], 0).sum(1) / np.maximum(mine.sum(1), 1) / run.attributes["context"]
    return np.where(mine.any(1), loss, np.nan)


def fall(run):
    """Return the step at which the loss of repo-docs falls below half its level before, for good."""
    loss = losses(run)
    before = np.nanmedian(loss[150:250])
    above = np.flatnonzero(loss >= before / 2)
    return int(above[-1]) + 2


def test_the_planted_document_is_memorised_and_falls_off_a_cliff_in_the_parked_stage(planted):
    loss = losses(planted)

    assert np.nanmedian(loss[150:250]) > 2.5
    assert np.nanmax(loss[-50:]) < 0.1
    assert 250 < fall(planted) < 350


def test_the_cliff_is_named_and_judged_at_the_end_of_its_phase_within_20_steps(planted):
    gullies = [event for event in told(planted) if event[0] == "memorised_gully"]
    ends = planted.phases["start"] + planted.phases["steps"]
    at_end = ends[np.searchsorted(ends, fall(planted))]

    assert len(gullies) == 1
    _, source, at, step = gullies[0]
    assert source == "repo-docs"
    assert abs(at - fall(planted)) <= 20
    assert step == at_end


def test_nothing_else_is_taken_for_learning_or_for_other_data(planted):
    assert {event[0] for event in told(planted)} <= {"memorised_gully", "unexplained"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_clean_run_has_no_verdict(seed, tmp_path):
    run = finished(tmp_path, CLEAN, "--seed", seed)

    assert len(run.probes["cliff"]["step"]) == run.phases.rows
    assert {event[0] for event in told(run)} <= {"unexplained"}
