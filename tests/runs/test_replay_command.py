"""`andrea replay`: its exit codes, what it says, and what it writes."""

import csv

import numpy as np
import pytest
import zarr

import andrea_core.runs.replay
from andrea_core.cli import main
from andrea_core.forking import forked_run
from andrea_core.progress import Progress
from andrea_core.runs.store import open_run
from andrea_core.scenario import load

POLICY = '''
import attrs
from andrea_core import hookimpl

@attrs.frozen
class Centre:
    """Stays in the middle."""
    needs = frozenset()
    def start(self, sources): return None
    def propose(self, state, moment, rng): return moment.region.centre
    def update(self, state, outcome): return state

@hookimpl
def andrea_policies(): return {"centre": Centre}
'''

OVERFLOWS = '''
import attrs
import numpy as np
from andrea_core import hookimpl

@attrs.frozen
class Overflows:
    """Infinite until a step, then the loss."""
    until: int = 10
    needs = frozenset()
    def start(self, sources): return None
    def score(self, state, observation, rng):
        loss = observation.loss_by_source()
        return (loss + np.inf if observation.step < self.until else loss), state

@hookimpl
def andrea_rewards(): return {"overflows": Overflows}
'''
FACES = "policy.faces=[{{share=1.7e308,policy={{use='random'}}}},{{share={},policy={{{}}}}}]"


@pytest.fixture
def replay(capsys):
    """Return what runs the command: its exit code, output and errors."""

    def command(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["replay", *map(str, arguments)])
        shown = capsys.readouterr()
        return ended.value.code, shown.out, shown.err

    return command


def nudge(run, source=0):
    weights = zarr.open_array(run / "run.zarr" / "phases" / "weights", mode="a")
    weights[1, source] = np.nextafter(weights[1, source], np.inf)


def test_a_run_that_reproduces_itself_ends_with_0(run, replay):
    code, out, err = replay(run)

    assert (code, err) == (0, "")
    assert f"reproduced: all {open_run(run).phases.rows} phases, bit for bit" in out


def test_a_fork_says_which_phases_are_its_own_and_which_its_parents(run, tiny, replay, tmp_path):
    fork = tmp_path / "fork"
    loaded = load(tiny, settings=["run.steps=30", "curriculum.stages[0].until=5", "curriculum.stages[1].until=13"])
    experiment, step = forked_run(run, 14, loaded, fork, Progress(), device="cpu", threads=1)
    experiment.run()
    experiment.folder.release()
    code, out, _ = replay(fork)
    starts = open_run(fork).phases["start"]
    count, own = len(starts), int((starts >= step).sum())

    assert code == 0
    assert 0 < own < count
    first = count - own
    assert (
        f"{count} phases (phases 0 to {first - 1}, up to step 14, are of its parent tiny, {first} to {count - 1} its"
        in out
    )
    assert f"reproduced: all {own} phases of its own, bit for bit" in out
    assert f"under the parent's scenario: andrea replay {run}\n" in out


def test_a_run_that_differs_ends_with_1_and_says_where_by_how_much_and_on_which_machine(run, replay):
    nudge(run)
    code, out, _ = replay(run)

    start = open_run(run).phases["start"][1]
    assert code == 1
    assert f"differs first in phase 1 (step {start}, stage all), weights of source birds" in out
    assert "(1 ulp apart)" in out
    assert f"the weights differ in 1 of {open_run(run).phases.rows} phases" in out
    assert f"recorded on {open_run(run).attributes['cpus'][0]}; this is" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--policy", "ucb2"], "no policy is called 'ucb2'; did you mean 'ucb1'?"),
        (["--set", "model.width=8"], "only policy, reward, adjusts, constraints, curriculum, seed can be set"),
        (["--policy", "ucb1", "--set", "policy.cc=1"], "unknown key 'cc'"),
        (["--policy", "dice"], "--policy takes the defaults of 'dice', and some settings have none: add them, --set"),
        (["--policy", "dice", "--set", FACES.format(9e307, 'use="uniform"')], "only their ratios count, so divide"),
        (
            ["--policy", "dice", "--set", FACES.format(1.0, 'use="doremi",reference={birds=2.0}')],
            "policy 'dice' do not fit: faces[1] (doremi) does not fit the sources of this scenario or run",
        ),
        (["--policy", "doremi", "--set", "policy.reference={birds=2.0}"], "settings of the policy 'doremi' do not fit"),
        (["--policy", "ucb1", "--policy-file", "x.toml"], "--policy and --policy-file both say which policy"),
        (["--policy", "ucb1", "--out", "walk.txt"], "name a file that ends in .csv, or a folder that ends in .zarr"),
        (["--policy-file", "absent.toml"], "absent.toml does not exist"),
    ],
)
def test_bad_input_ends_with_2_and_one_message(run, replay, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = replay(run, *options)

    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_rewards_that_overflow_are_told_and_refused_where_nothing_is_left(run, replay, tmp_path):
    plugin = tmp_path / "overflows.py"
    plugin.write_text(OVERFLOWS, encoding="utf-8")
    options = ("--plugin", plugin, "--policy", "ucb1", "--set")
    some = replay(run, *options, "reward={use='overflows'}")
    none = replay(run, *options, "reward={use='overflows', until=1000}")

    assert some[0] == 0
    assert "are not finite and count as no reward, the first in phase 0 (step 0)" in some[2]
    assert none[0] == 2
    assert "scores of the reward 'overflows' in" in none[2]
    assert "nothing is learnt: change its settings, or scale it down" in none[2]


def test_what_is_no_run_ends_with_2(tmp_path, replay):
    code, _, err = replay(tmp_path / "nowhere")

    assert code == 2
    assert "no run folder" in err


def test_another_policy_is_called_off_policy_and_its_walk_is_written(run, replay, tmp_path):
    code, out, _ = replay(run, "--policy", "uniform", "--out", tmp_path / "walk.csv")
    assert code == 0
    assert "off-policy: uniform decides, but every outcome is the recorded run's" in out
    assert "effective sources" in out

    recorded = open_run(run).phases
    with (tmp_path / "walk.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for index, row in enumerate(rows):
        for place, name in enumerate(open_run(run).sources):
            assert float(row[f"recorded {name}"]) == recorded["weights"][index, place]
        assert sum(float(row[f"weight {name}"]) for name in open_run(run).sources) == pytest.approx(1)
    assert len(rows) == recorded.rows

    assert replay(run, "--policy", "uniform", "--out", tmp_path / "walk.zarr")[0] == 0
    assert replay(run, "--policy", "random", "--out", tmp_path / "walk.zarr")[0] == 0  # a replay may be replaced
    walk = zarr.open_group(tmp_path / "walk.zarr", mode="r")
    assert walk.attrs["off_policy"] is True
    assert walk["weights"].shape == recorded["weights"].shape
    assert walk["distance"][:] == pytest.approx(np.abs(walk["weights"][:] - walk["recorded"][:]).sum(1) / 2)


@pytest.mark.parametrize("name", ["run.zarr", "notes.csv", "bytes.csv", "folder.csv", "link.csv"])
def test_what_is_no_replay_is_not_written_over_and_refused_before_anything_is_replayed(run, replay, monkeypatch, name):
    (run / "notes.csv").write_text("phase,note\n0,mine\n")
    (run / "bytes.csv").write_bytes(b"\xff\x00")
    (run / "folder.csv").mkdir()
    (run / "link.csv").symlink_to(run / "nowhere")
    kept = (run / "notes.csv").read_text()
    monkeypatch.setattr(andrea_core.runs.replay, "replayed", None)
    code, _, err = replay(run, "--policy", "uniform", "--out", run / name)

    assert code == 2
    assert "something else than a replay stands there; name another" in err
    assert open_run(run).phases.rows
    assert (run / "notes.csv").read_text() == kept


def test_a_table_of_a_replay_and_an_empty_file_are_written_over(run, replay, tmp_path):
    out = tmp_path / "walk.csv"
    out.touch()
    for policy in ("uniform", "random"):
        assert replay(run, "--policy", policy, "--out", out)[0] == 0
        assert policy in out.read_text()


def test_a_file_gives_its_policy_and_its_plugins(run, replay, tmp_path):
    (tmp_path / "centre.py").write_text(POLICY)
    (tmp_path / "other.toml").write_text('plugins = ["centre.py"]\npolicy = { use = "centre" }\n')

    assert "off-policy: centre decides" in replay(run, "--policy-file", tmp_path / "other.toml")[1]
    assert "off-policy: centre decides" in replay(run, "--policy", "centre", "--plugin", tmp_path / "centre.py")[1]
    (tmp_path / "none.toml").write_text("seed = 3\n")
    assert "no table [policy]" in replay(run, "--policy-file", tmp_path / "none.toml")[2]


def test_a_plugin_that_has_changed_is_named_with_both_digests(start, replay, tmp_path):
    plugin = tmp_path / "centre.py"
    plugin.write_text(POLICY)
    experiment = start(tmp_path / "run", "policy.use=centre", plugins=[str(plugin)])
    experiment.run()
    experiment.folder.release()
    assert replay(tmp_path / "run")[0] == 0

    was = next(one for one in open_run(tmp_path / "run").facts["plugins"] if one["name"] == "centre")["digest"]
    plugin.write_text(POLICY.replace("moment.region.centre", "moment.region.vertex(-moment.weights)"))
    code, out, err = replay(tmp_path / "run")
    assert code == 1
    assert "the plugin centre" in err
    assert f"{was} then" in err
    assert "requested of source" in out
    plugin.unlink()
    assert replay(tmp_path / "run")[0] == 2
