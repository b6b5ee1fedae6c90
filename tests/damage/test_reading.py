"""Reading damaged runs: the model of a run that goes on, and a report of what can still be read."""

import errno
import os
import shutil

import pytest
from click.testing import CliRunner

from andrea_core.errors import RunError
from andrea_core.report.page import write_report
from andrea_core.runs.store import open_run
from andrea_core.runs.trained import trained_model


class TestPruning:
    """Reading the model of a run that goes on."""

    def test_a_checkpoint_that_is_dropped_while_it_is_read_is_replaced_by_the_newest(self, run, finished, monkeypatch):
        from andrea_core.runs.checkpoint import CheckpointFolder

        inner = CheckpointFolder.load

        def load_late(self, step):
            if step == 35:
                shutil.copytree(finished / "checkpoints/step_0000040", run / "checkpoints/step_0000040")
                shutil.rmtree(run / "checkpoints/step_0000035")
            return inner(self, step)

        monkeypatch.setattr(CheckpointFolder, "load", load_late)
        model, _ = trained_model(run)

        expected = inner(CheckpointFolder(finished / "checkpoints"), 40).model
        assert all((value == expected[name]).all() for name, value in model.state_dict().items() if name in expected)
        assert not (run / "checkpoints/step_0000035").exists()

    def test_a_checkpoint_asked_for_by_step_is_not_replaced(self, run):
        (run / "checkpoints/step_0000035/model.safetensors").write_bytes(b"")

        with pytest.raises(RunError, match=r"step_0000035.model\.safetensors is damaged"):
            trained_model(run, 35)


class TestReport:
    """A report of a damaged record shows what can be read."""

    def test_a_torn_chunk_takes_only_its_own_panels_away(self, run):
        (run / "run.zarr/steps/loss/c/0").write_bytes(b"torn")

        text = write_report(run).read_text(encoding="utf-8")
        assert "steps/loss: this part of the record is damaged" in text
        assert 'data-spec="spec-weights' in text

    @pytest.mark.parametrize("place", ["steps", "phases", "phases/weights", "events"])
    def test_a_torn_description_is_said_in_the_report(self, run, place):
        (run / f"run.zarr/{place}/zarr.json").write_bytes(b"")

        assert "this part of the record is damaged" in write_report(run).read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        "array", ["phases/trained", "phases/weights", "phases/start", "steps/tokens", "steps/loss"]
    )
    def test_rows_that_are_gone_leave_a_report_of_the_rest(self, run, array):
        shutil.rmtree(run / f"run.zarr/{array}/c")

        assert "<h2>Scenario</h2>" in write_report(run).read_text(encoding="utf-8")

    def test_a_torn_head_is_one_error(self, run):
        (run / "run.zarr/zarr.json").write_bytes(b"")

        with pytest.raises(RunError, match="cannot be read"):
            write_report(run)

    def test_a_folder_in_the_place_of_the_report_is_said_and_nothing_is_left(self, run):
        (run / "report.html").mkdir()
        before = sorted(path.name for path in run.iterdir())

        with pytest.raises(RunError, match=r"report\.html: .*move it away"):
            write_report(run)
        assert sorted(path.name for path in run.iterdir()) == before

    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.ENODEV])
    def test_a_report_that_cannot_be_written_is_one_error(self, run, number, monkeypatch):
        def refuse(*_arguments):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr("andrea_core.runs.files.os.fsync", refuse)
        with pytest.raises(RunError, match=r"cannot write .*report\.html: "):
            write_report(run)
        assert open_run(run).steps.rows == 40


def test_the_runner_of_commands_meets_no_traceback_in_a_report_of_a_damaged_record(run):
    from andrea_core.cli.report import report

    (run / "run.zarr/phases/zarr.json").write_bytes(b"[]")
    assert CliRunner().invoke(report, [str(run)]).exit_code == 0
