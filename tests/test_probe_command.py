"""`andrea probe`: a checkpoint shows what the run recorded there, the run stays as it is, and faults are named."""

import hashlib
import json

import numpy as np
import pytest

from andrea_core import open_run
from andrea_core.assembly import new_run
from andrea_core.cli import main
from andrea_core.progress import Progress
from andrea_core.runs.replay import Recorded, replayed, verdict_of
from andrea_core.scenario import load, load_resolved

PROBES = 'probes=[{use="trace",draws=2,tokens=64,at_end=true},{use="heldout",tokens=64,every=1}]'
REWARD = 'reward={use="probe",name="heldout",measurement="bits_per_byte",normaliser="none"}'


@pytest.fixture
def run(tiny, tmp_path):
    made = load(tiny, settings=[PROBES, REWARD])
    experiment = new_run(made, tmp_path / "run", Progress(), device="cpu", threads=1)
    try:
        experiment.run()
    finally:
        experiment.folder.release()
    return tmp_path / "run"


def call(capfd, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return stopped.value.code or 0, out, err


def digests(folder):
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def test_a_checkpoint_shows_what_the_run_recorded_there_and_the_run_stays_as_it_is(run, tmp_path, capfd):
    before = digests(run)
    code, out, _ = call(capfd, "probe", run, "--at", "7,40", "--threads", 1, "--json", "--out", tmp_path / "looked")
    recorded, looked = open_run(run), open_run(tmp_path / "looked")

    assert code == 0
    assert digests(run) == before
    assert looked.probes["trace"]["step"].tolist() == [7, 40]
    assert looked.probes["trace"]["trace"][1] == recorded.probes["trace"]["trace"][0]
    np.testing.assert_array_equal(looked.evals["bits_per_byte"][1], recorded.evals["bits_per_byte"][-1])
    assert json.loads(out)[1]["costs"]["trace"]["products"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--at", 3], "has no checkpoint of step 3; there is 0, 7, 14, 21"),
        (["--probes", "trac"], "no probe is called 'trac'; did you mean 'trace'?"),
        (["--probes", "reward_audit"], "needs what no checkpoint keeps (outcome)"),
        (["--set", "trace.draw=3"], "unknown key 'draw'; did you mean 'draws'?"),
        (["--set", "heldout.use=sharpness"], "asked for by its name, in --probes"),
        (["--figure", ""], "ends in .html"),
        (["--figure", "here.txt"], "ends in .html"),
        (["--figure", "nowhere/at/all.html"], "in a folder that exists"),
    ],
)
def test_what_cannot_be_looked_at_is_named(run, capfd, arguments, message):
    code, _, err = call(capfd, "probe", run, *arguments)
    assert code == 2
    assert message in err


def test_a_damaged_checkpoint_is_named(run, capfd):
    (run / "checkpoints" / "step_0000014" / "model.safetensors").write_bytes(b"torn")
    code, _, err = call(capfd, "probe", run, "--at", 14)
    assert code == 2
    assert "step_0000014" in err
    assert "is damaged" in err


def test_a_probe_as_reward_pays_the_fall_since_the_last_look_and_replays(run):
    read = open_run(run)
    bits = read.phases["probed"]
    trained = read.phases["trained"][1:] > 0

    np.testing.assert_array_equal(read.phases["reward"][1:][trained], (bits[:-1] - bits[1:])[trained])
    looks = read.frame("looks")
    assert (looks.probe == "heldout").sum() == read.phases.rows
    assert looks.products[looks.probe == "trace"].tolist() == [2]
    recorded = Recorded.of(read)
    assert verdict_of(recorded, list(replayed(load_resolved(run / "scenario.toml"), recorded, own=True))).first is None
