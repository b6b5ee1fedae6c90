"""Small truths and scenarios for simulations: no text, three sources."""

import numpy as np
import pytest

from andrea_core.simulator.truth import Change, Truth, checked

SCENARIO = """
name = "little"
seed = 5
run = { steps = 300 }
model = { preset = "tiny", context = 8 }
sampler = { rows = 4 }
curriculum = { use = "static" }
phases = { use = "uniform", low = 3, high = 9 }
policy = { use = "ucb1" }
reward = { use = "improvement" }

[sources]
birds = { use = "text", files = ["birds-*.txt"] }
clocks = { use = "text", files = ["clocks-*.txt"] }
ships = { use = "text", files = ["ships-*.txt"] }
"""

STAGES = """
[curriculum]
use = "staged"
[[curriculum.stages]]
name = "warmup"
until = 100
sources = ["birds", "ships"]
[[curriculum.stages]]
name = "polish"
constraints = [{ use = "floors", floors = { birds = 0.5 } }, { use = "caps", caps = { ships = 0.2 } }]
"""


@pytest.fixture
def little(tmp_path):
    """A scenario of three sources without any text, 300 steps of 32 tokens: (path of the file)."""
    path = tmp_path / "little.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


@pytest.fixture
def staged(tmp_path):
    """The same in two stages, the second with a floor and a cap."""
    path = tmp_path / "staged.toml"
    path.write_text(SCENARIO.replace('curriculum = { use = "static" }\n', "") + STAGES, encoding="utf-8")
    return path


def a_truth(count=3, seed=0, *, retention=1.0, changes=(), noise=0.1, unit=100.0):
    """A truth of `count` sources; `changes` are the steps at which what sources teach is rolled on by one."""
    rng = np.random.default_rng(seed)
    transfer = rng.uniform(0, 1, (count, count)) * (rng.random((count, count)) < 0.6) + np.eye(count)
    return checked(
        Truth(
            name="made",
            floor=rng.uniform(0.5, 2, count),
            scale=rng.uniform(2, 6, count),
            exponent=rng.uniform(0.3, 0.9, count),
            offset=rng.uniform(0.5, 2, count),
            transfer=transfer,
            noise=np.full(count, noise),
            tokens=rng.integers(100, 1000, count),
            unit=unit,
            target=np.ones(count, bool),
            pure_noise=np.zeros(count, bool),
            retention=retention,
            changes=tuple(Change(step, np.roll(transfer, i + 1, axis=1)) for i, step in enumerate(changes)),
        )
    )


@pytest.fixture(scope="session")
def make():
    """What makes a truth."""
    return a_truth
