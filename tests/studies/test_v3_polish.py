"""The main job on real text at laptop size: what a run must reach, keep and survive; minutes long, needs the corpus."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from andrea_core import open_run

pytestmark = pytest.mark.study

SCENARIO = Path(os.environ.get("ANDREA_EXAMPLES", Path(__file__).parents[2])) / "scenarios" / "v3_polish.toml"
SEVEN = {"hermes3-general", "hermes3-creative", "hermes3-roleplay", "chat", "smoltalk", "oasst", "gutenberg"}


@pytest.fixture(scope="module")
def environment():
    """The process's own environment, with the user's cache."""
    return dict(os.environ)


def andrea(*arguments, environment, wait=True):
    command = [sys.executable, "-m", "andrea_core", *map(str, arguments)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if wait:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
    return process


@pytest.fixture(scope="module")
def folder(tmp_path_factory, environment):
    out = tmp_path_factory.mktemp("study") / "v3"
    andrea("run", SCENARIO, "--threads", 1, "--out", out, environment=environment)
    return out


@pytest.fixture
def run(folder):
    return open_run(folder)


def in_stage(run, stage):
    return np.array(run.phases.decoded("stage")) == stage


def test_the_mean_held_out_loss_is_below_the_bar_and_every_order_0_entropy(run):
    last = run.evals["bits_per_byte"][-1].mean()

    assert last < 3.3
    assert last < min(run.attributes["order0"])


def test_three_geometries_in_one_run(run):
    weights, polish = run.phases["weights"], in_stage(run, "polish")
    for source in ("repo-docs", "repo-docstrings"):
        for name in ("weights", "drawn", "trained"):
            assert (run.phases[name][polish, run.sources.index(source)] == 0).all()
    assert (weights[polish, run.sources.index("hermes3-general")] >= 0.7).all()
    assert (weights[polish, run.sources.index("dictionary")] <= 0.25).all()
    outside = [index for index, name in enumerate(run.sources) if name not in SEVEN]
    assert len(outside) == 9
    assert (weights[np.ix_(in_stage(run, "warmup"), outside)] == 0).all()


def test_phases_last_7_to_42_steps_and_only_a_stages_last_is_cut(run):
    steps, ends = run.phases["steps"], run.phases["start"] + run.phases["steps"]

    assert steps.max() <= 42
    assert all(length >= 7 or end in (200, 1126, 2000) for length, end in zip(steps, ends, strict=True))


def test_drawn_rows_are_within_one_row_of_what_is_due(run):
    rows = run.phases["steps"] * run.attributes["rows"]
    due = np.cumsum(run.phases["weights"] * rows[:, None], 0) - np.cumsum(run.phases["drawn"], 0)
    always = [i for i, name in enumerate(run.sources) if name not in ("repo-docs", "repo-docstrings")]

    assert np.abs(run.phases["owed"]).max() < 1
    assert np.abs(due[:, always]).max() < 1


def test_every_face_acts_and_ucb_goes_toward_its_vertex(run):
    policies, stages = np.array(run.phases.decoded("policy")), run.phases["stage"]
    weights, vertex = run.phases["weights"], run.notes["vertex"]

    assert all((policies == name).mean() >= 0.2 for name in ("random", "ucb1"))
    assert len(np.unique(weights[in_stage(run, "firehose")], axis=0)) >= 30
    walked = [i for i in range(1, len(weights)) if policies[i] == "ucb1" and stages[i] == stages[i - 1]]
    assert walked
    for i in walked:
        assert np.linalg.norm(weights[i] - vertex[i]) < np.linalg.norm(weights[i - 1] - vertex[i])


def test_five_kills_at_random_moments_change_no_bit(run, tmp_path, environment):
    out, chance = tmp_path / "killed", random.Random()
    process = andrea("run", SCENARIO, "--threads", 1, "--out", out, environment=environment, wait=False)
    for _ in range(5):
        time.sleep(chance.uniform(10, 45))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        process = andrea("resume", out, environment=environment, wait=False)
    _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    killed = open_run(out)

    assert killed.steps["loss"].tobytes() == run.steps["loss"].tobytes()
    assert killed.phases["weights"].tobytes() == run.phases["weights"].tobytes()
    assert killed.evals["bits_per_byte"].tobytes() == run.evals["bits_per_byte"].tobytes()
