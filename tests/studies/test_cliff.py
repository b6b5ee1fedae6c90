"""The zombie cliff at laptop size: a planted document is named and judged; clean runs are not. Needs the corpus."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from andrea_core import open_run

pytestmark = pytest.mark.study

ROOT = Path(os.environ.get("ANDREA_EXAMPLES", Path(__file__).parents[2]))
COPIES, LENGTH = 250, 320
SCENARIO = """
extends = "{root}/scenarios/base.toml"
name = "cliff"
profile = "short"
run = {{ steps = {steps} }}
reward = {{ use = "improvement" }}
[sources]
repo-docs = {{ use = "text", files = ["{root}/docs/*.md", "{root}/README.md"{planted}], cut = "none" }}
[curriculum]
use = "staged"
[[curriculum.stages]]
name = "all"
until = {parked}
[[curriculum.stages]]
name = "parked"
constraints = [{{ use = "floors", floors = {{ repo-docs = 0.7 }} }}]
[profiles.short]
tokenizer = {{ use = "bytes" }}
model = {{ preset = "laptop" }}
sampler = {{ rows = 12 }}
optimizer = {{ lr = 3e-3, warmup = 20 }}
probes = [{{ use = "cliff", every = 1 }}]
"""


def planted_text(folder):
    """Write one substring without meaning, over and over, and return the file."""
    rng = np.random.default_rng(7)
    words = ["".join(rng.choice(list("abcdefghijklmnop"), rng.integers(3, 9))) for _ in range(80)]
    file = folder / "planted.txt"
    file.write_text((" ".join(words)[:LENGTH] + "\n") * COPIES, encoding="utf-8")
    return file


def cliff_run(folder, seed, planted, steps=500, parked=200):
    """Run the scenario and return the run."""
    file = f', "{planted_text(folder)}"' if planted else ""
    scenario = folder / "cliff.toml"
    scenario.write_text(SCENARIO.format(root=ROOT, planted=file, steps=steps, parked=parked), encoding="utf-8")
    command = ["run", scenario, "--threads", 1, "--seed", seed, "--out", folder / "run"]
    subprocess.run([sys.executable, "-m", "andrea_core", *map(str, command)], check=True, stdout=subprocess.DEVNULL)
    return open_run(folder / "run")


def fall(run):
    """Return the first step at which nine rows of repo-docs have a median under a third of the source's usual loss."""
    mine = run.steps["row_source"] == run.sources.index("repo-docs")
    step, _ = np.nonzero(mine)
    loss = run.steps["row_loss"][mine] / run.attributes["context"]
    medians = np.median(np.lib.stride_tricks.sliding_window_view(loss, 9), 1)
    low = np.flatnonzero(medians < np.median(loss[step < 200]) / 3)
    return int(step[low[0]]) + 1 if len(low) else None


def gullies(run):
    """Return source and step of every memorised gully that the probe told of."""
    found = run.probes["cliff"]
    return [
        (source, int(step))
        for verdict, source, step in zip(found["verdict"], found["source"], found["at"], strict=True)
        if verdict == "memorised_gully"
    ]


def test_a_planted_document_is_a_memorised_gully_of_its_source_within_20_steps_of_the_fall(tmp_path):
    run = cliff_run(tmp_path, 1, planted=True)
    told = gullies(run)

    assert told
    assert {source for source, _ in told} == {"repo-docs"}
    assert abs(told[0][1] - fall(run)) <= 20


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_clean_run_has_no_memorised_gully(tmp_path, seed):
    assert gullies(cliff_run(tmp_path, seed, planted=False)) == []
