"""Checkpoints: whole or not there, verified, and the newest valid one is found."""

import hashlib
import json
import shutil

import numpy as np
import pytest
import torch
from safetensors import SafetensorError

from andrea_core.errors import RunError
from andrea_core.runs.checkpoint import Checkpoint, CheckpointFolder
from andrea_core.runs.keeping import Keep


def checkpoint(step):
    return Checkpoint(
        step=step,
        model={"w": torch.full((3, 2), float(step))},
        optimizer={"m": torch.arange(4.0)},
        arrays={"state.pulls": np.array([1.0, np.nan])},
        values={"state": {"class": "x", "fields": {}}},
    )


@pytest.fixture
def folder(tmp_path):
    made = CheckpointFolder(tmp_path / "checkpoints")
    made.folder.mkdir()
    for step in (0, 10, 20, 30):
        made.save(checkpoint(step), keep=Keep(3))
    return made


def test_what_was_saved_is_loaded_bit_for_bit(folder):
    back = folder.load(30)

    assert back.model["w"].tolist() == torch.full((3, 2), 30.0).tolist()
    assert back.arrays["state.pulls"].tobytes() == np.array([1.0, np.nan]).tobytes()
    assert back.values == {"state": {"class": "x", "fields": {}}}


def test_the_newest_are_kept_and_checkpoint_0_stays(folder):
    assert folder.steps() == [0, 10, 20, 30]
    folder.save(checkpoint(40), keep=Keep(2))

    assert folder.steps() == [0, 30, 40]


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "state.safetensors", "state.json"])
@pytest.mark.parametrize("damage", ["flip", "truncate", "remove"])
def test_a_damaged_file_is_named_and_the_next_older_checkpoint_is_used(folder, name, damage):
    file = folder.path(30) / name
    data = file.read_bytes()
    if damage == "remove":
        file.unlink()
    else:
        file.write_bytes(data[:-3] if damage == "truncate" else bytes([data[0] ^ 1]) + data[1:])

    with pytest.raises(RunError, match=name):
        folder.load(30)
    step, found = folder.newest_valid()
    assert step == 20
    assert name in found[0]


def test_a_checkpoint_without_a_manifest_is_not_valid(folder):
    (folder.path(30) / "manifest.json").unlink()

    assert folder.newest_valid()[0] == 20


def test_nothing_is_left_of_a_checkpoint_whose_writing_failed(folder, monkeypatch):
    monkeypatch.setattr("andrea_core.runs.checkpoint._sha256", lambda _: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        folder.save(checkpoint(50), keep=Keep(3))
    assert [path.name for path in folder.folder.iterdir() if "50" in path.name] == []


def test_no_valid_checkpoint_is_said(tmp_path):
    assert CheckpointFolder(tmp_path).newest_valid() == (None, [])


@pytest.mark.parametrize("damaged", [30, 40, 50])
def test_damaged_checkpoints_do_not_count_and_later_ones_go(folder, damaged):
    for step in (40, 50):
        folder.save(checkpoint(step), keep=Keep(9))
    for step in range(damaged, 60, 10):
        (folder.path(step) / "model.safetensors").write_bytes(b"")
    later = CheckpointFolder(folder.folder)  # as a new process sees them
    start, _ = later.newest_valid()
    later.save(checkpoint(start + 5), keep=Keep(2))

    assert later.steps() == [0, start, start + 5]


def test_a_damaged_checkpoint_between_good_ones_does_not_count(folder):
    (folder.path(20) / "model.safetensors").write_bytes(b"")
    later = CheckpointFolder(folder.folder)
    later.save(checkpoint(40), keep=Keep(3))

    assert later.steps() == [0, 10, 20, 30, 40]
    assert later.newest_valid() == (40, [])


def test_values_of_another_step_or_version_are_refused(folder):
    for change, reason in (({"format": 1}, "another version of andrea"), ({"step": 20}, "values of step 30")):
        file = folder.path(30) / "state.json"
        old = file.read_text(encoding="utf-8")
        file.write_text(json.dumps({**json.loads(old), **change}), encoding="utf-8")
        manifest = json.loads((folder.path(30) / "manifest.json").read_text(encoding="utf-8"))
        manifest["state.json"] = hashlib.sha256(file.read_bytes()).hexdigest()
        (folder.path(30) / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")

        with pytest.raises(RunError, match=reason):
            folder.load(30)
        file.write_text(old, encoding="utf-8")


def test_a_disk_that_is_full_leaves_the_older_ones(folder, monkeypatch):
    def refuse(*_arguments):
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("safetensors.torch.save_file", refuse)
    with pytest.raises(SafetensorError):
        folder.save(checkpoint(40), keep=Keep(1))
    assert folder.newest_valid() == (30, [])
    assert [path.name for path in folder.folder.iterdir() if "40" in path.name] == []


def test_a_checkpoint_of_another_run_is_passed_over(tmp_path):
    for name in ("one", "other"):
        made = CheckpointFolder(tmp_path / name / "checkpoints")
        made.folder.mkdir(parents=True)
        (tmp_path / name / "run.json").write_text(json.dumps({"digest": name}), encoding="utf-8")
        made.save(checkpoint(10), keep=Keep(3))
    one = CheckpointFolder(tmp_path / "one/checkpoints")
    assert one.newest_valid() == (10, [])
    shutil.copytree(tmp_path / "other/checkpoints/step_0000010", one.path(20))
    file, manifest = one.path(20) / "state.json", one.path(20) / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), "step": 20}), encoding="utf-8")
    digests = json.loads(manifest.read_text(encoding="utf-8"))
    digests["state.json"] = hashlib.sha256(file.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(digests), encoding="utf-8")
    step, damage = CheckpointFolder(one.folder).newest_valid()

    assert step == 10
    assert "is of another run, of a scenario with the digest other; take it away" in damage[0]


@pytest.mark.parametrize("name", ["step_²", "step_5", "step_٣", "step_", "step_0x10", "step_-000001"])
def test_what_is_no_checkpoint_by_its_name_is_left_alone(folder, name):
    (folder.folder / name).mkdir()

    assert folder.steps() == [0, 10, 20, 30]
    assert list(folder.reasons(Keep(3))) == [0, 10, 20, 30]


def test_a_file_in_the_place_of_a_checkpoint_has_a_size_and_is_damaged(folder):
    folder.path(40).write_bytes(b"four")

    assert folder.size(40) == 4
    assert folder.newest_valid()[0] == 30
