"""Runs that are cut off: killed at a step, and their records compared, wall times apart."""

import os
import signal
import sys
import traceback

import numpy as np
import zarr

from andrea_core.runs.checkpoint import CheckpointFolder

WALL_TIME = "/seconds"


def record(folder):
    group = zarr.open_group(folder / "run.zarr", mode="r")
    members = group.members(max_depth=None)
    arrays = {name: a for name, a in members if isinstance(a, zarr.Array) and not name.endswith(WALL_TIME)}
    return {name: np.asarray(array[:]).tolist() for name, array in arrays.items()}


def assert_same_record(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def contents(run, step):
    """Return the bits of all that a run leaves: its record, wall times apart, and its checkpoint of a step."""
    group = zarr.open_group(run / "run.zarr", mode="r")
    members = group.members(max_depth=None)
    found = {
        f"record/{name}": a[:] for name, a in members if isinstance(a, zarr.Array) and not name.endswith(WALL_TIME)
    }
    last = CheckpointFolder(run / "checkpoints").load(step)
    for part, tensors in (("model", last.model), ("optimizer", last.optimizer)):
        found |= {f"{part}/{name}": tensor.numpy() for name, tensor in tensors.items()}
    found |= {name: array for name, array in last.arrays.items() if not name.startswith("recorder")}
    bits = {
        name: (str(a.dtype), a.shape, a.tolist() if a.dtype.kind == "T" else a.tobytes()) for name, a in found.items()
    }
    return bits | {name: last.values[name] for name in ("state", "trainer")}


def assert_same_contents(one, other):
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


def killed_run(make, at_step, *, written=False):
    """Fork; in the child make an experiment, train, and die by SIGKILL when `at_step` steps are done.

    With `written` it dies when the checkpoint that is being written is finished.
    """
    child = os.fork()
    if child == 0:
        try:
            experiment, step = make()
            inner = experiment.trainer.step

            def step_then_die(inputs, targets):
                if experiment.trainer.steps_done == at_step:
                    if written:
                        experiment.saver.writer.wait()
                    os.kill(os.getpid(), signal.SIGKILL)
                inner(inputs, targets)

            experiment.trainer.step = step_then_die
            experiment.run(step)
        except BaseException:
            traceback.print_exc()  # the assertion below could only say that something was wrong
        finally:
            sys.stderr.flush()
            os._exit(7)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the child ended by itself: {status}"
    assert os.WTERMSIG(status) == signal.SIGKILL
