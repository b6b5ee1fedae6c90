"""A small finished run, copies of it to damage, and what goes on with them."""

import shutil

import numpy as np
import pytest
import zarr

from andrea_core.assembly import new_run, resumed_run
from andrea_core.errors import RunError
from andrea_core.progress import Progress
from andrea_core.runs import recorder
from andrea_core.scenario import load

SCENARIO = """
name = "damage"
run = { steps = 40, checkpoint_every = 5, keep_checkpoints = 3 }
model = { preset = "tiny" }
sampler = { rows = 2 }
phases = { use = "uniform", low = 3, high = 6 }
reward = { use = "improvement" }
policy = { use = "ucb1" }
curriculum = { use = "staged", stages = [{ name = "all" }] }

[sources]
birds = { use = "text", files = ["FOLDER/birds-*.txt"] }
ships = { use = "text", files = ["FOLDER/ships-*.txt"] }
"""


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A finished run of 40 steps with checkpoints 0, 30, 35 and 40, recorded in chunks of 16 rows."""
    folder = tmp_path_factory.mktemp("damage")
    for name in ("birds", "ships"):
        for number in range(20):
            (folder / f"{name}-{number}.txt").write_text(f"{name} {number} and the sea " * 12, encoding="utf-8")
    path = folder / "damage.toml"
    path.write_text(SCENARIO.replace("FOLDER", folder.as_posix()), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANDREA_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        patch.setattr(recorder, "CHUNK", 16)
        experiment = new_run(load(path), folder / "run", Progress(), device="cpu", threads=1)
        experiment.run()
        experiment.folder.release()
    return folder / "run"


@pytest.fixture
def run(finished, tmp_path, monkeypatch):
    """A copy of the finished run that goes on from step 35."""
    monkeypatch.setattr(recorder, "CHUNK", 16)
    shutil.copytree(finished, tmp_path / "run")
    shutil.rmtree(tmp_path / "run/checkpoints/step_0000040")
    return tmp_path / "run"


@pytest.fixture
def resume():
    """Return the function that goes on with a run to its end and returns the step it went on from."""
    return _resume


@pytest.fixture
def record():
    """Return the function that reads a whole record, wall time apart."""
    return _record


@pytest.fixture
def refused():
    """Return the function that returns the one error of a resume, which changes no file."""
    return _refused


def _resume(folder):
    experiment, step = resumed_run(folder, Progress())
    try:
        experiment.run(step)
    finally:
        experiment.folder.release()
    return step


def _record(folder):
    group = zarr.open_group(folder / "run.zarr", mode="r")
    arrays = {name: a for name, a in group.members(max_depth=None) if isinstance(a, zarr.Array)}
    return {name: np.asarray(a[:]).tolist() for name, a in arrays.items() if not name.endswith("/seconds")}


def _contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def _refused(folder):
    """Return the one thing that resuming says; every file stays as it is (the record's head may be written again)."""
    before = _contents(folder)
    with pytest.raises(RunError) as caught:
        _resume(folder)
    after = _contents(folder)
    assert {**after, "run.zarr/zarr.json": b""} == {**before, "run.zarr/zarr.json": b""}
    return str(caught.value)
