"""`andrea probe`: a checkpoint shows what the run recorded there, the run stays as it is, and faults are named."""

import hashlib
import json

import numpy as np
import pytest
from finished_runs import copied, trained

from andrea_core import open_run
from andrea_core.cli import main
from andrea_core.runs.replay import Recorded, replayed, verdict_of
from andrea_core.scenario import load_resolved

PROBES = 'probes=[{use="trace",draws=2,tokens=64,at_end=true},{use="heldout",tokens=64,every=1}]'
REWARD = 'reward={use="probe",name="heldout",measurement="bits_per_byte",normaliser="none"}'


LUCK = '''
import attrs
from andrea_core import Measurement, hookimpl

@attrs.frozen
class Luck:
    """A probe that says a number."""
    number: float = 1.0
    needs = frozenset()
    def start(self, sources): return 0
    def measure(self, state, view, rng): return {"luck": Measurement(self.number)}, state + 1

@hookimpl
def andrea_probes(): return {"luck": Luck}
'''


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Where the run that all tests copy lies once it is trained."""
    return tmp_path_factory.mktemp("finished") / "run"


@pytest.fixture
def run(finished, tiny, tmp_path):
    return copied(finished, tiny, tmp_path / "run", PROBES, REWARD)


@pytest.fixture
def lucky(tiny, tmp_path):
    """A short run with a probe of a plugin file, and that file."""
    plugin = tmp_path / "luck.py"
    plugin.write_text(LUCK)
    probes = 'probes=[{use="luck",number=2.5,every=4}]'
    short = ("run.steps=4", "run.checkpoint_every=2", 'curriculum={use="static"}', probes)
    return trained(tiny, tmp_path / "lucky", *short, plugins=[str(plugin)]), plugin


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
        (["--probes", ""], "--probes names no probe"),
        (["--probes", " ,"], "--probes names no probe"),
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


def test_a_damaged_checkpoint_costs_no_other_one(run, tmp_path, capfd):
    (run / "checkpoints" / "step_0000014" / "model.safetensors").write_bytes(b"torn")
    asked = ("probe", run, "--at", "7,14,21", "--probes", "trace", "--json", "--out", tmp_path / "looked")
    code, out, err = call(capfd, *asked)

    assert code == 2
    assert "looked at the checkpoints of steps: 7, 21; not at: 14: " in err
    assert "step_0000014" in err
    assert [look["step"] for look in json.loads(out)] == [7, 21]
    assert open_run(tmp_path / "looked").probes["trace"]["step"].tolist() == [7, 21]


def test_what_a_probe_found_before_it_failed_is_kept(run, tmp_path, capfd):
    plugin = tmp_path / "luck.py"
    plugin.write_text(LUCK.replace('"luck": Measurement(self.number)', '"luck": Measurement(1.0 / (1 - state))'))
    asked = ("probe", run, "--at", "7,14,21", "--probes", "luck", "--plugin", plugin, "--out", tmp_path / "looked")
    code, out, err = call(capfd, *asked)

    assert code == 2
    assert "looked at the checkpoints of steps: 7; not at: 14, 21: " in err
    assert "ZeroDivisionError" in err
    assert "luck.luck  1" in out
    assert open_run(tmp_path / "looked").probes["luck"]["step"].tolist() == [7]


@pytest.mark.parametrize(
    ("option", "place"),
    [("--out", "checkpoints/looked"), ("--out", "../run/pivots"), ("--figure", "checkpoints/a.html")],
)
def test_nothing_is_written_into_the_run_that_is_looked_at(run, capfd, option, place):
    before = digests(run)
    code, _, err = call(capfd, "probe", run, option, run / place)

    assert code == 2
    assert f"{option} " in err
    assert "lies in the run that is looked at" in err
    assert digests(run) == before


def test_a_folder_without_a_run_and_a_damaged_scenario_are_named(run, tmp_path, capfd):
    (tmp_path / "empty").mkdir()
    code, _, err = call(capfd, "probe", tmp_path / "empty")
    assert (code, err.count("is no run folder")) == (2, 1)

    scenario = run / "scenario.toml"
    scenario.write_text(scenario.read_text()[:-200])
    code, _, err = call(capfd, "probe", run)
    assert (code, err.count("is not what the run was started with: it is damaged, or was changed")) == (2, 1)


def test_a_plugin_that_was_moved_is_named_at_its_new_place(lucky, tmp_path, capfd):
    run, plugin = lucky
    new = tmp_path / "elsewhere"
    new.mkdir()
    code, _, err = call(capfd, "probe", run, "--plugin", plugin)
    assert (code, err) == (0, "")

    for place in (new / "luck.py", new / "called_otherwise.py"):
        plugin.rename(place)
        code, _, err = call(capfd, "probe", run)
        assert code == 2
        assert f"the plugin file {plugin} of the run is not there any more" in err
        assert "--plugin FILE" in err
        code, out, _ = call(capfd, "probe", run, "--plugin", place)
        assert code == 0
        assert "luck.luck  2.5" in out
        place.rename(plugin)


def test_a_plugin_that_has_changed_is_told_and_may_be_named_as_it_was(lucky, tmp_path, capfd):
    run, plugin = lucky
    copy = tmp_path / "as_it_was.py"
    copy.write_text(LUCK)
    plugin.write_text(LUCK.replace("Measurement(self.number)", "Measurement(self.number + 1)"))
    code, out, err = call(capfd, "probe", run)
    assert code == 0
    assert "the plugin luck" in err
    assert "has changed since the run was started" in err
    assert "luck.luck  3.5" in out

    plugin.write_text(LUCK.replace("number: float", "value: float").replace("self.number", "self.value"))
    code, _, err = call(capfd, "probe", run)
    assert code == 2
    assert "with it the run's scenario cannot be read" in err
    assert "name a copy of that with --plugin FILE" in err
    code, out, err = call(capfd, "probe", run, "--plugin", copy)
    assert (code, err) == (0, "")
    assert "luck.luck  2.5" in out


def test_show_tells_what_probes_cost_and_goes_on_without_a_record(run, capfd):
    code, out, _ = call(capfd, "show", run)
    assert code == 0
    assert "# probe trace: 1 look of " in out
    assert "2 Hessian-vector products" in out
    (run / "run.zarr" / "zarr.json").write_text("{")
    code, out, _ = call(capfd, "show", run)
    assert (code, out.count("# what the probes cost cannot be read: ")) == (0, 1)
