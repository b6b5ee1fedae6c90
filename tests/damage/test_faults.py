"""Faults while a run goes on: full disk, kill while saving, no permission, a clock that goes back, two processes."""

import errno
import os
import resource
import signal
import time

import numpy as np
import pytest

from andrea_core.assembly import resumed_run
from andrea_core.errors import RunError
from andrea_core.progress import Progress
from andrea_core.runs import checkpoint, files, recorder
from andrea_core.runs.checkpoint import CheckpointFolder


def go_on(run):
    """Go on with a run to its end, or to what stops it."""
    experiment, step = resumed_run(run, Progress())
    try:
        experiment.run(step)
    finally:
        experiment.folder.release()


def in_child(work):
    """Return how a child that does some work ends."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except RunError:
            os._exit(3)
        finally:
            os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("number", [1, 3, 6, 7, 8])
def test_a_disk_that_fills_at_any_write_is_one_error_and_the_run_goes_on_later(
    run, finished, resume, record, monkeypatch, number
):
    inner, count = files._sync, [0]

    def sync(path):
        count[0] += 1
        if count[0] >= number:
            raise OSError(errno.ENOSPC, "No space left on device")
        inner(path)

    with monkeypatch.context() as patch:
        patch.setattr(files, "_sync", sync)
        with pytest.raises(RunError, match="the disk is full; free some space, then do it again"):
            go_on(run)

    assert CheckpointFolder(run / "checkpoints").newest_valid()[0] in (35, 40)
    resume(run)
    np.testing.assert_equal(record(run), record(finished))


@pytest.mark.parametrize("limit", [1000, 40_000, 160_000])
def test_a_limit_on_the_size_of_files_is_one_error_and_the_run_goes_on_later(run, finished, resume, record, limit):
    def work():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        go_on(run)

    assert in_child(work) == 3
    assert resume(run) == 35
    np.testing.assert_equal(record(run), record(finished))


@pytest.mark.parametrize("name", ["save_arrays", "_sha256"])
def test_killed_inside_the_writing_of_a_checkpoint_the_one_before_is_gone_on_with(
    run, finished, resume, record, monkeypatch, name
):
    inner = getattr(checkpoint, name)

    def die(*arguments):
        if ".partial" in str(arguments[-1]):
            os.kill(os.getpid(), signal.SIGKILL)
        return inner(*arguments)

    monkeypatch.setattr(checkpoint, name, die)

    def work():
        experiment, step = resumed_run(run, Progress())
        experiment.run(step)

    assert in_child(work) == -signal.SIGKILL
    assert [path.name for path in (run / "checkpoints").glob(".*")] == [".step_0000040.partial"]
    monkeypatch.undo()
    monkeypatch.setattr(recorder, "CHUNK", 16)
    assert resume(run) == 35
    assert list((run / "checkpoints").glob(".*")) == []
    np.testing.assert_equal(record(run), record(finished))


def test_a_folder_without_permission_is_one_error(run):
    (run / "checkpoints").chmod(0o555)
    try:
        if os.access(run / "checkpoints", os.W_OK):
            pytest.skip("this user may write everywhere")
        with pytest.raises(RunError, match="writing is not permitted there"):
            go_on(run)
    finally:
        (run / "checkpoints").chmod(0o755)


def test_a_file_system_that_became_read_only_is_one_error(run, resume, monkeypatch):
    def refuse(*_arguments, **_options):
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_arrays", refuse)
        with pytest.raises(RunError, match="the file system is read-only"):
            go_on(run)
    assert resume(run) == 35


def test_a_clock_that_goes_back_changes_nothing(run, finished, record, monkeypatch):
    now = iter(range(10**9, 0, -3600))
    monkeypatch.setattr(time, "time", lambda: float(next(now)))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    go_on(run)

    np.testing.assert_equal(record(run), record(finished))


def test_a_second_process_is_kept_out_and_disturbs_nothing(run, finished, record):
    experiment, step = resumed_run(run, Progress())
    assert in_child(lambda: go_on(run)) == 3
    experiment.run(step)
    experiment.folder.release()

    np.testing.assert_equal(record(run), record(finished))
