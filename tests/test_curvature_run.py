"""Whole runs with curvature probes: recorded where they should be, resumed exactly, and training as without them."""

import numpy as np
import pytest
import zarr

from andrea_core.assembly import new_run, resumed_run
from andrea_core.experiment import Interrupted
from andrea_core.progress import Progress
from andrea_core.runs.store import open_run
from andrea_core.scenario import load

WHEN = "tokens = 64, at_start = true, at_stage_borders = true, at_end = true"
USES = {
    "sharpness": "k = 2, products = 6",
    "adam_sharpness": "products = 4",
    "critical_sharpness": "forwards = 12",
    "trace": "draws = 2",
    "spectrum": "vectors = 1, steps = 3, points = 16",
}
PROBES = ", ".join(f'{{ use = "{name}", {settings}, {WHEN} }}' for name, settings in USES.items())


def scenario(tiny, probes):
    path = tiny.with_name("curvature.toml")
    path.write_text(
        f'extends = "tiny.toml"\nprobes = [{probes}]\nrun = {{ steps = 30, checkpoint_every = 7 }}\n'
        "model = { layers = 1, heads = 2, width = 16, context = 16, dropout = 0.1 }\n"
    )
    return load(path)


def finish(experiment, step=None):
    try:
        return experiment.run(step)
    finally:
        experiment.folder.release()


def test_a_run_records_its_curvature_resumes_exactly_and_trains_as_without(tiny, tmp_path):
    finish(new_run(scenario(tiny, PROBES), tmp_path / "probed", Progress(), device="cpu", threads=1))
    plain = new_run(scenario(tiny, ""), tmp_path / "plain", Progress(), device="cpu", threads=1)
    finish(plain)
    broken = new_run(scenario(tiny, PROBES), tmp_path / "broken", Progress(), device="cpu", threads=1)
    step = broken.trainer.step

    def stopping(*batch):
        step(*batch)
        if broken.trainer.steps_done == 15:
            broken.ask_to_stop(2)

    broken.trainer.step = stopping
    with pytest.raises(Interrupted):
        finish(broken)
    finish(*resumed_run(tmp_path / "broken", Progress()))

    probed, resumed, bare = (open_run(tmp_path / name) for name in ("probed", "broken", "plain"))
    np.testing.assert_array_equal(probed.steps["loss"], bare.steps["loss"])
    assert set(USES) <= set(probed.probes)
    for name in USES:
        one, other = probed.probes[name], resumed.probes[name]
        assert list(one["step"]) == [0, 12, 26, 30]
        for column in one:
            np.testing.assert_array_equal(one[column], other[column])
    group = zarr.open_group(tmp_path / "probed" / "run.zarr", mode="r")["probes/sharpness"]
    assert group["eigenvalues"].shape == (4, 2)
    assert (group["largest"][:] > 0).all()
