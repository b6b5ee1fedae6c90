"""Probes leave no trace: a run with all of them is the run with none, to the bit, in all but what they wrote."""

import random

import numpy as np
import pytest
import torch
from busy_probes import BUSY, all_probes, names
from cut_runs import contents

from andrea_core.assembly import new_run
from andrea_core.progress import Progress
from andrea_core.runs.checkpoint import CheckpointFolder
from andrea_core.runs.store import open_run
from andrea_core.scenario import load

SLOW = pytest.mark.slow
OWN = ("record/probes/", "record/eval/", "record/samples/", "record/looks/", "record/events/")
MODEL = "model = { layers = 1, heads = 2, width = 16, context = 24, dropout = %s }\n"
RUN = "run = { steps = %s, checkpoint_every = 40, keep_checkpoints = 100 }\n"
OPTIMISER = 'optimizer = { use = "%s", lr = 1e-2, warmup = 4 }\n'


def trained(tiny, out, probes, optimiser, dropout, steps):
    """Train, and return the bits of all that a run leaves but its probes' part, and the global generators' states."""
    path = tiny.with_name("seen.toml")
    settings = RUN % steps + MODEL % dropout + OPTIMISER % optimiser
    path.write_text(f'extends = "tiny.toml"\n{settings}{probes}\n')
    torch.manual_seed(1), np.random.seed(1), random.seed(1)
    experiment = new_run(load(path), out, Progress(), device="cpu", threads=1)
    try:
        experiment.run()
    finally:
        experiment.folder.release()
    drawn = (torch.get_rng_state().tolist(), np.random.get_state()[1].tolist(), random.getstate())
    return _but_the_probes(out) | {"generators": drawn}


def _but_the_probes(run):
    found = {}
    for step in CheckpointFolder(run / "checkpoints").steps():
        for name, bits in contents(run, step).items():
            if name == "state":
                bits = {key: value for key, value in bits["fields"].items() if key != "probes"}
            if not name.startswith((*OWN, "state.probes.")):
                found[f"{step} {name}"] = bits
    events = open_run(run).frame("events")
    return found | {"events": [tuple(row) for row in events[events.kind != "probe"].itertuples(index=False)]}


def assert_unseen(tiny, tmp_path, when, optimiser, dropout, steps):
    probed = trained(tiny, tmp_path / "probed", all_probes(when), optimiser, dropout, steps)
    plain = trained(tiny, tmp_path / "plain", "probes = []", optimiser, dropout, steps)

    assert probed.keys() == plain.keys()
    assert [name for name in plain if probed[name] != plain[name]] == []
    looks = open_run(tmp_path / "probed").frame("looks")
    borders = {12, 26, steps}
    assert all(borders <= set(looks.step[looks.probe == name]) for name in names())
    assert {"model", "optimizer", "record", "trainer", "state"} <= {
        key.partition(" ")[2].partition("/")[0] for key in plain
    }


def test_a_run_with_all_probes_is_the_run_with_none(tiny, tmp_path):
    assert_unseen(tiny, tmp_path, "at_stage_borders = true", "adamw", 0.2, 27)


@SLOW
@pytest.mark.parametrize("optimiser", ["adamw", "muon", "sgd"])
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_two_hundred_steps_with_all_probes_are_those_with_none(tiny, tmp_path, optimiser, dropout):
    assert_unseen(tiny, tmp_path, BUSY, optimiser, dropout, 200)
