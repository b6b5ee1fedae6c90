"""Whole runs with every probe on: training is bit-identical to a run without, and all of it is in the record."""

import shutil

import numpy as np
import pytest

from andrea_core.assembly import new_run, resumed_run
from andrea_core.progress import Progress
from andrea_core.runs.store import open_run
from andrea_core.scenario import load

LOOKS = "every = 10\nat_start = true\nat_end = true\n"
PROBES = {
    "attention": "tokens = 12\nshown = 6",
    "barrier": "points = 5\ntokens = 96",
    "basin_width": "draws = 2\nrounds = 1\ntrace = 2\ntokens = 96",
    "cliff": "tokens = 32",
    "connectivity": "points = 3\nsteps = 2\nbatch = 16\ntokens = 96",
    "embedding": 'words = ["wren", "brig"]',
    "memorisation": 'windows = 2\nprefix = 8\nverbatim = 8\ncanaries = ["wren 31415"]\nreferences = 7',
    "noise_scale": "windows = 6\nsmall = 2",
    "path": "tokens = 96\nsketch = 16",
    "perturbation_sharpness": "draws = 2\nascent = 2\nrows = 2",
    "slices": 'directions = "path"\npoints = 3\ntokens = 96',
    "text_health": "tokens = 20\ngreedy = true\npatience = 0",
}
SLOW = pytest.mark.slow
SHORT = 'extends = "tiny.toml"\nrun = { steps = 20, checkpoint_every = 5, keep_checkpoints = 100 }\n'


def scenario(tiny, probes, optimiser="adamw", dropout=0.0):
    path = tiny.with_name("probed.toml")
    tables = "".join(f'[[probes]]\nuse = "{name}"\n{LOOKS}{probes[name]}\n' for name in probes)
    model = f'model = {{ preset = "tiny", dropout = {dropout} }}\noptimizer = {{ use = "{optimiser}", lr = 1e-3 }}\n'
    path.write_text(f'{SHORT}curriculum = {{ use = "static" }}\n{model}{tables or "probes = []"}\n')
    return load(path)


def finished(tiny, out, *args):
    experiment = new_run(scenario(tiny, *args), out, Progress(), device="cpu", threads=1)
    try:
        experiment.run()
    finally:
        experiment.folder.release()
    return open_run(out)


@pytest.mark.parametrize(
    ("optimiser", "dropout"),
    [("adamw", 0.1), pytest.param("muon", 0.0, marks=SLOW), pytest.param("sgd", 0.1, marks=SLOW)],
)
def test_training_with_all_probes_is_bit_identical_to_training_without(tiny, tmp_path, optimiser, dropout):
    probed = finished(tiny, tmp_path / "probed", PROBES, optimiser, dropout)
    plain = finished(tiny, tmp_path / "plain", {}, optimiser, dropout)

    for name in ("loss", "grad_norm", "row_loss"):
        np.testing.assert_array_equal(probed.steps[name], plain.steps[name])
    assert set(probed.probes) == set(PROBES) - {"text_health"}
    assert all(probed.probes[name]["step"][[0, -1]].tolist() == [0, 20] for name in PROBES if name != "text_health")
    for name, array in (
        ("attention", "weights"),
        ("slices", "plane"),
        ("path", "sketch"),
        ("memorisation", "exposure"),
    ):
        assert np.isfinite(probed.probes[name][array][-1]).all(), name
    assert (probed.samples["greedy_loop"] >= 0).all()


def test_a_run_that_goes_on_from_a_checkpoint_measures_the_same(tiny, tmp_path):
    chosen = {name: PROBES[name] for name in ("barrier", "connectivity", "noise_scale", "path", "slices")}
    whole = finished(tiny, tmp_path / "whole", chosen)
    finished(tiny, tmp_path / "parts", chosen)
    for folder in (tmp_path / "parts" / "checkpoints").iterdir():
        if int(folder.name.removeprefix("step_")) > 10:
            shutil.rmtree(folder)
    experiment, step = resumed_run(tmp_path / "parts", Progress(), device="cpu")
    assert step == 10
    try:
        experiment.run(step)
    finally:
        experiment.folder.release()
    parts = open_run(tmp_path / "parts")

    for name in chosen:
        last, expected = parts.probes[name], whole.probes[name]
        for array in expected:
            np.testing.assert_array_equal(last[array][-1], expected[array][-1], err_msg=f"{name}/{array}")
