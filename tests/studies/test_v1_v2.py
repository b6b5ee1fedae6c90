"""The pair of ANDREA runs at laptop size: v1's first steps leap and it ends worse; six runs, long, needs the corpus."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from andrea_core import open_run

pytestmark = pytest.mark.study

SCENARIOS = Path(os.environ.get("ANDREA_EXAMPLES", Path(__file__).parents[2])) / "scenarios"
EARLY = 100
"""The steps in which a start is judged: a twentieth of the run."""


@pytest.fixture(scope="module", params=[1, 2, 3], ids="seed {}".format)
def pair(request, tmp_path_factory):
    """Return the runs of v1 and v2 with the same seed."""
    folder = tmp_path_factory.mktemp("pair")
    for name in ("v1_collapse", "v2_warmup"):
        arguments = ["run", SCENARIOS / f"{name}.toml", "--threads", 1, "--seed", request.param, "--out", folder / name]
        subprocess.run(
            [sys.executable, "-m", "andrea_core", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL
        )
    return open_run(folder / "v1_collapse"), open_run(folder / "v2_warmup")


def leap(run):
    """Return the largest gradient norm of the early steps as a multiple of the first."""
    norms = run.steps["grad_norm"][:EARLY]
    return norms.max() / norms[0]


def test_both_start_from_the_same_model(pair):
    v1, v2 = pair

    np.testing.assert_array_equal(v1.evals["bits_per_byte"][0], v2.evals["bits_per_byte"][0])


def test_without_warm_up_the_gradient_leaps_in_the_first_steps_and_with_it_does_not(pair):
    v1, v2 = pair

    assert leap(v1) > 5
    assert leap(v2) < 1.5


def test_with_the_faults_the_held_out_loss_ends_worse(pair):
    v1, v2 = (run.evals["bits_per_byte"][-1] for run in pair)

    assert v1.mean() > v2.mean()
    assert (v1 > v2).sum() > len(v1) / 2
