"""Whole runs by several ranks: the data order of one, resumed by any number, and no rank that waits for a dead one."""

import subprocess
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from cut_runs import record

from andrea_core.assembly import new_run
from andrea_core.errors import RunError, ScenarioError
from andrea_core.model.memory import predicted
from andrea_core.model.ranks import Ranks
from andrea_core.model.settings import PRESETS, OptimizerSettings
from andrea_core.progress import Progress
from andrea_core.scenario import load
from andrea_core.together import decision

PROGRAM = Path(__file__).parent / "planted" / "rank_run.py"
SETTINGS = ["--threads", "1", "--set", "optimizer.lr=1e-3"]
ORDER = ("steps/row_source", "phases/start", "phases/steps", "phases/drawn", "phases/trained", "phases/stage")


class Two(Ranks):
    index, size, local, neighbours = 1, 2, 1, 2


def ranks(count, *arguments, how="none", rank=0, step=-1):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
    command = [*launcher, str(PROGRAM), how, str(rank), str(step), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def assert_same_course(one, other):
    assert one.keys() == other.keys()
    for name in ORDER:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    np.testing.assert_allclose(one["steps/loss"][:20], other["steps/loss"][:20], rtol=0, atol=1e-6)
    np.testing.assert_allclose(one["steps/loss"], other["steps/loss"], rtol=0, atol=1e-3)


def test_a_rank_that_fails_ends_the_other_with_its_message_and_leaves_a_run_to_go_on_with(tiny, tmp_path):
    done = ranks(2, "run", tiny, "--out", tmp_path / "run", *SETTINGS, how="fail", rank=1, step=16)

    assert done.returncode != 0
    assert "rank 1 failed: " in done.stderr
    assert "the disk is on fire" in done.stderr
    assert "timed out" not in done.stderr  # rank 0 notices at once, not when rank 1 has waited for its word in vain
    assert (tmp_path / "run" / "checkpoints").is_dir()


FAULTY = """
import attrs
from andrea_core import hookimpl

@attrs.frozen
class Faulty:
    needs = frozenset()
    def start(self, sources): return 0
    def propose(self, state, moment, rng):
        if moment.phase == 2:
            raise ValueError("out of ideas")
        return moment.region.centre()
    def update(self, state, outcome): return state

@hookimpl
def andrea_policies(): return {"faulty": Faulty}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["--set", "policy.step=5"], "error: --set: policy.step: unknown key 'step'; there is faces"),
        (["--set", "sampler.rows=3"], "error: 2 ranks cannot share the 3 rows of a step equally"),
        (["--set", "policy={ use = 'faulty' }"], "error: the policy 'faulty' "),
    ],
)
def test_a_fault_of_the_scenario_is_said_once_whatever_the_number_of_ranks(tiny, tmp_path, settings, message):
    (tmp_path / "faulty.py").write_text(FAULTY)
    plugin = ["--plugin", tmp_path / "faulty.py"]
    done = ranks(2, "run", tiny, "--out", tmp_path / "run", *SETTINGS, *plugin, *settings)
    said = [line for line in done.stderr.splitlines() if line.startswith("error:")]

    assert len(said) == 1, done.stderr
    assert said[0].startswith(message)
    assert "exitcode  : 2" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_runs_killed_and_resumed_by_two_one_and_two_ranks_take_the_course_of_one(tiny, tmp_path, parallel):
    settings, out = [*SETTINGS, "--set", f"run.parallel={parallel}"], tmp_path / "run"
    assert ranks(1, "run", tiny, "--out", tmp_path / "straight", *settings).returncode == 0

    killed = ranks(2, "run", tiny, "--out", out, *settings, how="kill", rank=1, step=16)
    assert "gone without a word" in killed.stderr
    assert ranks(1, "resume", out, how="kill", rank=0, step=25).returncode != 0
    last = ranks(2, "resume", out)

    assert last.returncode == 0, last.stderr
    assert_same_course(record(tmp_path / "straight"), record(out))


@pytest.mark.slow
def test_a_signal_to_one_rank_stops_both_after_the_same_step(tiny, tmp_path):
    done = ranks(2, "run", tiny, "--out", tmp_path / "run", *SETTINGS, how="stop", rank=1, step=16)

    assert done.stderr.count("stopped at step 17, checkpoint written") == 1
    assert ranks(2, "resume", tmp_path / "run").returncode == 0


def test_fewer_rows_than_ranks_are_refused_before_a_folder_is_made(tiny, tmp_path):
    with pytest.raises(RunError, match=r"2 ranks cannot share the 1 rows .* for example 2"):
        new_run(
            load(tiny, settings=["sampler.rows=1"]),
            tmp_path / "run",
            Progress(),
            device="cpu",
            threads=1,
            ranks=Two(),
        )

    assert not (tmp_path / "run").exists()


def test_an_unknown_way_to_hold_the_model_is_refused_with_those_known(tiny):
    with pytest.raises(ScenarioError, match="parallel must be one of 'ddp', 'fsdp', got 'pipeline'"):
        load(tiny, settings=["run.parallel=pipeline"])


def test_one_number_of_a_state_changes_the_digest_of_the_decision(tiny, tmp_path):
    experiment = new_run(load(tiny), tmp_path / "run", Progress(), device="cpu", threads=1)
    experiment.folder.release()
    state = experiment.state
    phase, other = experiment.director.decide(state), attrs.evolve(state, trained=state.trained + 1)

    assert decision(state, phase) == decision(state, experiment.director.decide(state))
    assert decision(state, phase) != decision(other, phase)
    assert len(decision(state, phase)) == 32


def test_a_rank_is_foreseen_to_take_its_share_and_copies_are_counted():
    shape, settings = PRESETS["laptop"], OptimizerSettings()
    alone = predicted(shape, settings, 257, 8)
    copied = predicted(shape, settings, 257, 8, copies=True)
    whole, part = (predicted(shape, settings, 257, 8, ranks=Two(), parallel=kind) for kind in ("ddp", "fsdp"))

    assert copied.total - alone.total == alone.weights + alone.optimiser
    assert whole.activations == alone.activations // 2
    assert (whole.weights, part.weights) == (alone.weights, alone.weights // 2)
