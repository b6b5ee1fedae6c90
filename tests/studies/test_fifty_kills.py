"""Fifty SIGKILLs at random instants over one run at laptop size: every resume is valid, and no bit is another one."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import attrs
import numpy as np
import pytest
import zarr
from cut_runs import assert_same_contents, contents

from andrea_core.runs.checkpoint import CheckpointFolder

pytestmark = pytest.mark.study

SCENARIO = Path(os.environ.get("ANDREA_EXAMPLES", Path(__file__).parents[2])) / "scenarios" / "v3_polish.toml"
KILLS = int(os.environ.get("ANDREA_KILLS", "50"))
STEPS = 2000
SETTINGS = ("--threads", "1", "--set", "run.checkpoint_every=20")
"""Checkpoints every few seconds, so that many a kill falls into the writing of one."""


def andrea(*arguments):
    command = [sys.executable, "-m", "andrea_core", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def ended(process):
    _, errors = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), errors.decode()
    return process.returncode == 0


@attrs.define
class Lives:
    """A run that is killed and gone on with: how often, where it was then, and how often a write was torn."""

    kills: int = 0
    runs: int = 0
    torn: int = 0
    instants: list[int] = attrs.field(factory=list)

    def one_run(self, out, chance, pace, startup):
        """Begin a run and go on with it until it comes to its end, killing it while there are kills left."""
        self.runs += 1
        checkpoints, over = CheckpointFolder(out / "checkpoints"), False
        while not over:
            newest = checkpoints.newest_valid()[0] if out.exists() else None
            process = andrea("resume", out) if newest is not None else andrea("run", SCENARIO, *SETTINGS, "--out", out)
            if self.kills < KILLS:
                left = (STEPS - (newest or 0)) / (KILLS - self.kills + 1)
                time.sleep(chance.uniform(0, startup + 2 * left * pace))
                process.send_signal(signal.SIGKILL)
            over = ended(process)
            if not over:
                self.kills += 1
                self.torn += any(checkpoints.folder.glob(".step_*.partial"))
                self.instants.append(max(checkpoints.steps(), default=0))


def test_fifty_kills_over_a_laptop_run_lose_double_and_change_nothing(tmp_path):
    began = time.monotonic()
    straight = andrea("run", SCENARIO, *SETTINGS, "--out", tmp_path / "straight")
    first = tmp_path / "straight" / "checkpoints" / f"step_{20:07d}"
    while not first.exists() and straight.poll() is None:
        time.sleep(0.05)
    startup = time.monotonic() - began
    assert ended(straight)
    pace, whole = (time.monotonic() - began - startup) / STEPS, contents(tmp_path / "straight", STEPS)
    lives, chance = Lives(), random.Random()
    while lives.kills < KILLS:
        out = tmp_path / f"killed-{lives.runs}"
        lives.one_run(out, chance, pace, startup)
        found = contents(out, STEPS)
        assert_same_contents(whole, found)
        steps = np.array(zarr.open_group(out / "run.zarr", mode="r")["steps/loss"])
        assert len(steps) == STEPS
    print(f"{lives.kills} kills over {lives.runs} run(s), {lives.torn} inside the writing of a checkpoint")
    print(
        f"{startup:.1f} s to the first checkpoint, {1e3 * pace:.0f} ms a step, {time.monotonic() - began:.0f} s in all"
    )
    print("newest checkpoint at each kill:", *lives.instants)
