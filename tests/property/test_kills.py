"""Killed at any instant, also inside the writing of a checkpoint, a run goes on to the uninterrupted one's bits."""

import os
import random
import signal
import sys
import time
import traceback

import pytest
from cut_runs import assert_same_contents, contents

from andrea_core.assembly import new_run, resumed_run
from andrea_core.progress import Progress
from andrea_core.runs.checkpoint import CheckpointFolder
from andrea_core.scenario import load

KILLS = 50
SETTINGS = (
    "run.steps=300",
    "run.checkpoint_every=4",
    "run.keep_checkpoints=2",
    "run.keep_every=10",
    "run.keep_best=true",
    "curriculum.stages[0].until=70",
    "curriculum.stages[1].until=150",
)


def go_on(scenario, out):
    """Begin a run, or go on with it, and train it to its end."""
    if CheckpointFolder(out / "checkpoints").newest_valid()[0] is None:
        experiment, step = new_run(load(scenario, settings=SETTINGS), out, Progress(), device="cpu", threads=1), None
    else:
        experiment, step = resumed_run(out, Progress())
    experiment.run(step)
    experiment.folder.release()


def in_child(work, seconds=None):
    """Do some work in a child; kill it after some time. Returns whether it came to its end."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL)
    return code == 0


@pytest.mark.slow
def test_fifty_kills_at_random_instants_lose_double_and_change_nothing(tiny, tmp_path):
    began = time.monotonic()
    in_child(lambda: go_on(tiny, tmp_path / "straight"))
    whole, span = contents(tmp_path / "straight", 300), time.monotonic() - began
    rng = random.Random(5)
    kills = resumes = inside = runs = 0
    while kills < KILLS:
        out, finished = tmp_path / f"killed-{runs}", False
        while not finished:
            finished = in_child(lambda out=out: go_on(tiny, out), rng.uniform(0, span / 4) if kills < KILLS else None)
            kills += not finished
            inside += any((out / "checkpoints").glob(".step_*.partial"))
            resumes += CheckpointFolder(out / "checkpoints").newest_valid()[0] is not None
        runs += 1
        found = contents(out, 300)
        assert_same_contents(whole, found)
    print(f"{kills} kills, {inside} inside a checkpoint's writing, {resumes} resumes, {runs} runs of {span:.1f} s")
