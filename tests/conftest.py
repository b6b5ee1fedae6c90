"""One thread, quiet caches, and Hypothesis profiles for the whole suite."""

import os
import random

import pytest
import torch
from hypothesis import settings

settings.register_profile("default", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def own_cache(request, tmp_path_factory, monkeypatch):
    """Keep the user's cache out of the tests, studies apart."""
    if "study" not in request.keywords:
        monkeypatch.setenv("ANDREA_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


WORDS = """
the wren sings in the hedge while a brig sails before the wind and nobody hears the old clock strike nine
""".split()  # noqa: SIM905 - a sentence is easier to read than its words

TINY = """
name = "tiny"
seed = 3
run = { steps = 40, checkpoint_every = 7, keep_checkpoints = 100 }
model = { preset = "tiny" }
optimizer = { lr = 1e-2, warmup = 4 }
sampler = { rows = 4 }
phases = { use = "uniform", low = 3, high = 9 }
reward = { use = "improvement" }

[sources]
birds = { use = "text", files = ["FOLDER/birds-*.txt"] }
clocks = { use = "text", files = ["FOLDER/clocks-*.txt"] }
ships = { use = "text", files = ["FOLDER/ships-*.txt"] }

[curriculum]
use = "staged"
[[curriculum.stages]]
name = "warmup"
until = 12
sources = ["birds", "ships"]
[[curriculum.stages]]
name = "all"
until = 26
[[curriculum.stages]]
name = "polish"
constraints = [
  { use = "exclude", sources = ["clocks"] },
  { use = "floors", floors = { birds = 0.6 } },
  { use = "caps", caps = { ships = 0.35 } },
]

[policy]
use = "dice"
[[policy.faces]]
share = 0.5
policy = { use = "random" }
[[policy.faces]]
share = 0.5
policy = { use = "ucb1" }

[[probes]]
use = "heldout"
tokens = 64
at_start = true
at_stage_borders = true
at_end = true
"""


def write_text(folder, name, count=30):
    """Documents of one source: a source's own word in a shuffled sentence."""
    rng = random.Random(name)
    for number in range(count):
        text = " ".join([name, *rng.sample(WORDS, 12), str(number)] * 3)
        (folder / f"{name}-{number:02d}.txt").write_text(text, encoding="utf-8")


@pytest.fixture
def tiny(tmp_path):
    """A scenario of three small text sources, three stages and two policies: (path of the file)."""
    folder = tmp_path / "text"
    folder.mkdir()
    for name in ("birds", "clocks", "ships"):
        write_text(folder, name)
    path = tmp_path / "tiny.toml"
    path.write_text(TINY.replace("FOLDER", str(folder)), encoding="utf-8")
    return path
