"""Run folders: locked before anything inside is believed, and every path that cannot be one is refused clearly."""

import json
import os

import pytest
from filelock import FileLock
from safetensors import SafetensorError

from andrea_core.errors import RunError
from andrea_core.runs.checkpoint import Checkpoint, CheckpointFolder
from andrea_core.runs.files import disk_errors, whole_folder, write_text
from andrea_core.runs.folder import RunFolder
from andrea_core.runs.keeping import Keep

TEXT = 'name = "x"\n'
DIGEST = "8a1a92e78a8a1ee2d1bd0ea8b8a0b7d9"
FACTS = {"digest": DIGEST, "plugins": [], "device": "cpu", "threads": 1, "corpus": {}, "tokenizer": "bytes-v1"}


def create(path, **facts):
    return RunFolder.create(path, TEXT, {**FACTS, **facts})


def with_checkpoint(path):
    folder = create(path)
    folder.checkpoints.save(Checkpoint(7, {}, {}, {}, {}), keep=Keep(2))
    folder.release()
    return path


class TestCreate:
    """Where a run may begin."""

    def test_a_folder_in_use_is_said_to_be_in_use_whatever_it_holds(self, tmp_path):
        path = with_checkpoint(tmp_path / "run")
        with FileLock(path / ".lock"), pytest.raises(RunError, match="in use by another process"):
            create(path)

    def test_a_folder_that_another_process_is_just_making_is_said_to_be_in_use(self, tmp_path):
        (tmp_path / "run").mkdir()
        with FileLock(tmp_path / "run/.lock"), pytest.raises(RunError, match="in use by another process"):
            create(tmp_path / "run")

    def test_a_run_that_can_go_on_is_not_started_over_and_its_folder_is_free_again(self, tmp_path):
        path = with_checkpoint(tmp_path / "run")
        for _ in range(2):
            with pytest.raises(RunError, match="holds this run already, up to step 7; go on with"):
                create(path)

    @pytest.mark.parametrize("unwritten", [(), ("scenario.toml",), ("scenario.toml", "run.json")], ids=len)
    def test_what_another_attempt_left_before_its_first_checkpoint_is_started_over(self, tmp_path, unwritten):
        create(tmp_path / "run").release()
        for name in unwritten:
            (tmp_path / "run" / name).unlink()

        create(tmp_path / "run").release()
        assert json.loads((tmp_path / "run/run.json").read_text(encoding="utf-8"))["digest"] == DIGEST

    def test_a_foreign_folder_is_refused_and_stays_as_it_is(self, tmp_path):
        (tmp_path / "letters").mkdir()
        (tmp_path / "letters/a.txt").write_text("dear", encoding="utf-8")

        with pytest.raises(RunError, match="is not empty and holds no run"):
            create(tmp_path / "letters")
        assert [path.name for path in (tmp_path / "letters").iterdir()] == ["a.txt"]

    def test_checkpoints_without_run_json_are_not_started_over(self, tmp_path):
        path = with_checkpoint(tmp_path / "run")
        (path / "run.json").unlink()

        with pytest.raises(RunError, match="holds no run"):
            create(path)
        assert CheckpointFolder(path / "checkpoints").steps() == [7]

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("x" * 300, "name is too long"),
            ("file/run", "part of that path is a file"),
            ("loop/run", "leads back to itself"),
            ("file", "is a file"),
            ("gone", "is a file|not there|something else"),
        ],
    )
    def test_a_path_that_cannot_be_a_folder_is_refused_in_one_message(self, tmp_path, name, reason):
        (tmp_path / "file").write_bytes(b"")
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        (tmp_path / "gone").symlink_to(tmp_path / "nowhere")

        with pytest.raises(RunError, match=reason):
            create(tmp_path / name)


class TestOpen:
    """Which folders can be gone on with."""

    def test_a_lock_that_cannot_be_opened_is_said(self, tmp_path):
        create(tmp_path / "run").release()
        (tmp_path / "run/.lock").unlink(missing_ok=True)
        (tmp_path / "run/.lock").mkdir()

        with pytest.raises(RunError, match=r"\.lock, which keeps a second process out .*cannot be opened"):
            RunFolder.open(tmp_path / "run")

    def test_a_lock_without_permission_is_said(self, tmp_path, monkeypatch):
        create(tmp_path / "run").release()
        monkeypatch.setattr(FileLock, "acquire", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "denied")))

        with pytest.raises(RunError, match=r"cannot be opened \(denied\)"):
            RunFolder.open(tmp_path / "run")


class TestFiles:
    """What a disk says, in the user's words."""

    @pytest.mark.parametrize(
        ("error", "remedy"),
        [
            (SafetensorError("I/O error: No space left on device (os error 28)"), "the disk is full"),
            (SafetensorError("I/O error: File too large (os error 27)"), "ulimit -f"),
            (SafetensorError("I/O error: odd"), "check the place"),
            (OSError(28, "No space left on device"), "the disk is full"),
            (OSError(95, "Operation not supported"), "Operation not supported; check the place"),
            (OSError("odd"), "odd; check the place"),
        ],
        ids=str,
    )
    def test_every_error_of_the_disk_becomes_one_error_with_a_remedy(self, error, remedy):
        with pytest.raises(RunError, match=f"cannot write it: .*{remedy}"), disk_errors("it"):
            raise error

    @pytest.mark.parametrize("error", [SafetensorError("HeaderTooLarge"), ValueError("x")], ids=str)
    def test_other_errors_are_not_called_the_disks(self, error):
        with pytest.raises(type(error)), disk_errors("it"):
            raise error

    def test_a_text_that_cannot_be_written_leaves_the_old_one_and_nothing_else(self, tmp_path, monkeypatch):
        write_text(tmp_path / "a", "old")
        monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(5, "Input/output error")))

        with pytest.raises(RunError, match=r"a: the disk failed"):
            write_text(tmp_path / "a", "new")
        assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {"a": "old"}

    def test_a_folder_takes_the_place_of_what_a_killed_process_left(self, tmp_path):
        (tmp_path / ".a.partial").write_bytes(b"")
        with whole_folder(tmp_path / "a") as aside:
            (aside / "x").write_bytes(b"1")

        assert [path.name for path in tmp_path.iterdir()] == ["a"]
