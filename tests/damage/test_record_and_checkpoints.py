"""A record with holes is never gone on with; damaged checkpoints are passed over and drive no good ones away."""

import re
import shutil

import numpy as np
import pytest
import zarr

from andrea_core.assembly import resumed_run
from andrea_core.progress import Progress


class TestRecord:
    """What the checkpoint relies on is really there, or the run does not go on."""

    def test_an_undamaged_run_goes_on_to_the_same_record(self, run, finished, resume, record):
        assert resume(run) == 35
        np.testing.assert_equal(record(run), record(finished))

    def test_a_record_that_was_deleted_is_noticed(self, run, refused):
        shutil.rmtree(run / "run.zarr")

        assert re.search(
            r"run\.zarr/steps/\w+: this part of the record is missing; restore the folder from a copy", refused(run)
        )

    @pytest.mark.parametrize("chunk", [0, 1])
    def test_a_chunk_that_was_deleted_is_noticed(self, run, chunk, refused):
        (run / f"run.zarr/steps/loss/c/{chunk}").unlink()

        assert re.search(rf"steps/loss, rows {16 * chunk} to {16 * chunk + 15}: the record is damaged", refused(run))

    @pytest.mark.parametrize("damage", ["truncate", "empty", "other", "flip"])
    def test_a_damaged_chunk_is_noticed(self, run, damage, refused):
        file = run / "run.zarr/steps/loss/c/0"
        data = file.read_bytes()
        other = (run / "run.zarr/steps/loss/c/1").read_bytes()
        flipped = data[:-1] + bytes([data[-1] ^ 1])
        file.write_bytes({"truncate": data[:-5], "empty": b"", "other": other, "flip": flipped}[damage])

        assert re.search("steps/loss, rows 0 to 15", refused(run))

    def test_a_torn_last_chunk_is_written_anew_from_the_checkpoint(self, run, finished, resume, record):
        (run / "run.zarr/steps/loss/c/2").write_bytes(b"torn")

        assert resume(run) == 35
        np.testing.assert_equal(record(run), record(finished))

    def test_a_table_that_fits_into_the_checkpoint_is_written_anew(self, run, finished, resume, record):
        shutil.rmtree(run / "run.zarr/phases")

        assert resume(run) == 35
        np.testing.assert_equal(record(run), record(finished))

    @pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null"])
    @pytest.mark.parametrize("place", ["", "steps/", "steps/loss/", "phases/weights/"])
    def test_a_torn_description_is_noticed(self, run, place, damage, refused):
        (run / f"run.zarr/{place}zarr.json").write_bytes(damage)

        assert re.search(r"run\.zarr.*damaged", refused(run))

    def test_an_array_of_another_kind_is_noticed(self, run, refused):
        group = zarr.open_group(run / "run.zarr")
        del group["steps/loss"]
        group.create_array("steps/loss", shape=(40,), chunks=(16,), dtype="int64")

        assert re.search(r"steps/loss: the record is damaged: it is int64 \(\), not float", refused(run))

    def test_a_file_in_the_place_of_the_record_is_said(self, run, refused):
        shutil.rmtree(run / "run.zarr")
        (run / "run.zarr").write_bytes(b"")

        assert re.search("is a file where the record should be", refused(run))


class TestCheckpoints:
    """Damaged checkpoints are passed over, and never drive good ones away."""

    def test_new_checkpoints_stay_though_newer_ones_are_damaged(self, run, monkeypatch):
        for step in (30, 35):
            (run / f"checkpoints/step_{step:07d}/model.safetensors").write_bytes(b"")
        seen = []
        experiment, step = resumed_run(run, Progress())
        inner, checkpoints = experiment.folder.checkpoints.save, experiment.folder.checkpoints

        def save(*arguments):
            made = inner(*arguments)
            seen.append(checkpoints.steps())
            return made

        monkeypatch.setattr(checkpoints, "save", save)
        experiment.run(step)
        experiment.folder.release()

        assert step == 0
        assert seen[:4] == [[0, 5], [0, 5, 10], [0, 5, 10, 15], [0, 10, 15, 20]]
        assert seen[-1] == [0, 30, 35, 40]

    @pytest.mark.parametrize("text", ["[]", "5", "null", "{}", "", '{"model.safetensors": 5}', "[" * 100_000])
    def test_the_older_checkpoint_is_taken_when_a_manifest_is_damaged(self, run, text, resume):
        (run / "checkpoints/step_0000035/manifest.json").write_text(text, encoding="utf-8")

        assert resume(run) == 30

    def test_the_older_checkpoint_is_taken_when_a_file_is_in_the_place_of_the_newest(
        self, run, finished, resume, record
    ):
        for step in (35, 38):
            shutil.rmtree(run / f"checkpoints/step_{step:07d}", ignore_errors=True)
            (run / f"checkpoints/step_{step:07d}").write_bytes(b"")

        assert resume(run) == 30
        assert sorted(path.name[-2:] for path in (run / "checkpoints").iterdir()) == ["00", "30", "35", "40"]
        np.testing.assert_equal(record(run), record(finished))
