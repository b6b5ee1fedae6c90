"""`andrea simulate` and `andrea race` on the command line: what they print and write, and what they refuse."""

import subprocess
import sys

import pytest

from andrea_core import open_run
from andrea_core.cli import main
from andrea_core.errors import RunError

SCENARIO = """
name = "little"
run = { steps = 120 }
model = { preset = "tiny", context = 8 }
sampler = { rows = 4 }
curriculum = { use = "static" }
phases = { use = "uniform", low = 3, high = 9 }
policy = { use = "ucb1" }
reward = { use = "improvement" }

[[probes]]
use = "heldout"
at_start = true
at_end = true
[[probes]]
use = "text_health"
every = 50

[sources]
birds = { use = "text", files = ["birds-*.txt"] }
ships = { use = "text", files = ["ships-*.txt"] }
"""


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "little.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def andrea(*arguments):
    with pytest.raises(SystemExit) as done:
        main([*map(str, arguments)])
    return done.value.code


def test_a_simulation_says_what_it_came_to_and_leaves_a_run_that_opens(scenario, tmp_path, capsys):
    out = tmp_path / "run"

    assert andrea("simulate", scenario, "--out", out) == 0
    said = capsys.readouterr().out
    run = open_run(out)
    assert all(word in said for word in ("regret", "Frank-Wolfe gap", "what uniform weights end with", "birds"))
    assert run.steps.rows == 120
    assert run.phases["weights"].sum(axis=1) == pytest.approx(1)
    assert run.evals["bits_per_byte"][0] == pytest.approx([9.04 / 0.6931471805599453] * 2)
    assert run.probes["truth"]["mean"][-1] < 9.04
    assert "no model to look at" in " ".join(run.events["text"])
    assert (out / "walks.html").stat().st_size > 1_000_000
    walks = (out / "walks.html").read_text(encoding="utf-8")
    assert walks.count("<b>Principal plane (PCA)") + walks.count("<b>Regular polygon") > 0
    assert andrea("report", out) == 0
    assert "Against the truth" in (out / "report.html").read_text(encoding="utf-8")

    for chunk in (out / "run.zarr" / "phases" / "weights" / "c").rglob("*"):
        if chunk.is_file():
            chunk.write_bytes(b"torn")
    with pytest.raises(RunError, match="or `andrea simulate` if it was simulated"):
        open_run(out).phases["weights"][:]


def test_the_policy_may_be_another_one_with_settings(scenario, tmp_path):
    assert andrea("simulate", scenario, "--policy", "exp3", "--set", "policy.gamma=0.5", "--out", tmp_path / "run") == 0
    assert set(open_run(tmp_path / "run").phases.decoded("policy")) == {"exp3"}
    assert "gamma = 0.5" in (tmp_path / "run" / "scenario.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("policy", "ignored"), [("odm", True), ("odm,signal=reward", False), ("ucb1", False), ("uniform", False)]
)
def test_a_reward_that_the_policy_does_not_read_is_noted(scenario, tmp_path, capsys, policy, ignored):
    name, _, setting = policy.partition(",")
    options = ("--set", f"policy={{use='{name}'}}", *(("--set", f"policy.{setting}") if setting else ()))
    words = "learns from a signal of its own: the reward improvement is recorded, but moves no weight"

    assert andrea("show", scenario, *options) == 0
    assert (words in capsys.readouterr().out) == ignored
    assert andrea("simulate", scenario, "--out", tmp_path / "run", *options) == 0
    assert (words in capsys.readouterr().err) == ignored


@pytest.mark.parametrize("command", ["run", "eval", "generate"])
def test_more_threads_than_a_machine_may_start_are_refused(scenario, capsys, command):
    assert andrea(command, scenario.parent if command != "run" else scenario, "--threads", 10**9) == 2
    said = capsys.readouterr().err
    assert "--threads" in said
    assert "1000000000 is not in the range" in said


def test_a_race_prints_a_table_and_writes_it(scenario, tmp_path, capsys):
    out = tmp_path / "race"

    assert andrea("race", scenario, "--policies", "ucb1,scenario", "--seeds", 2, "--out", out) == 0
    said = capsys.readouterr().out
    assert all(f"| {name} |" in said for name in ("ucb1", "scenario", "uniform", "proportional", "random"))
    assert sorted(path.name for path in out.iterdir()) == ["race.json", "race.md", "race.svg", "runs.csv"]
    assert (out / "race.md").read_text(encoding="utf-8") in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--truth", "transfers"), "did you mean 'transfer'"),
        (("--truth", "none.toml"), "none.toml does not exist"),
        (("--truth", "vertex_trap"), "needs a source 'repo-docs'"),
        (("--policy", "ucb"), "did you mean 'ucb1'"),
        (("--policy", "ucb1", "--set", "policy.c=-1"), "c must be greater than 0"),
        (("--policy", 'u"1'), "write a name"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(scenario, tmp_path, capsys, arguments, words):
    assert andrea("simulate", scenario, "--out", tmp_path / "run", *arguments) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("error:") == 1
    assert not (tmp_path / "run").exists()


def test_a_truth_of_another_number_of_sources_is_refused(scenario, tmp_path, capsys):
    truth = tmp_path / "three.toml"
    truth.write_text(
        "floor = 1\nstart = 5\nexponent = 0.5\nnoise = 0.1\nsize = 0.1\ntransfer = [[1,0,0],[0,1,0],[0,0,1]]\n",
        encoding="utf-8",
    )

    assert andrea("simulate", scenario, "--truth", truth, "--out", tmp_path / "run") == 2
    assert "is of 3 sources, the scenario has 2" in capsys.readouterr().err


@pytest.mark.parametrize("policies", ["", "ucb1,,exp3", "nobody", "unimax"])
def test_a_race_refuses_policies_that_are_none(scenario, tmp_path, capsys, policies):
    assert andrea("race", scenario, "--policies", policies, "--out", tmp_path / "race") == 2
    assert not (tmp_path / "race").exists()


def test_a_simulation_never_imports_torch(scenario, tmp_path):
    code = (
        "import sys\nfrom andrea_core.cli import main\n"
        f"try: main(['simulate', {str(scenario)!r}, '--out', {str(tmp_path / 'run')!r}])\n"
        "except SystemExit as done: assert done.code == 0\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


SILENT = """
import attrs
import numpy as np
from andrea_core import hookimpl

@attrs.frozen
class Silent:
    needs = frozenset()
    def start(self, sources): return len(sources)
    def score(self, state, observation, rng): return np.full(state, np.nan), state

@hookimpl
def andrea_rewards(): return {"silent": Silent}
"""


@pytest.mark.parametrize(("policy", "told"), [("ucb1", True), ("uniform", False)])
def test_a_reward_that_never_scored_a_source_is_noted_where_a_policy_learns(scenario, tmp_path, capsys, policy, told):
    plugin = tmp_path / "silent.py"
    plugin.write_text(SILENT, encoding="utf-8")
    options = ("--plugin", plugin, "--set", "reward={use='silent'}", "--policy", policy)

    assert andrea("simulate", scenario, *options, "--out", tmp_path / "run") == 0
    words = f"the reward silent gave no finite score in any of {open_run(tmp_path / 'run').phases.rows} phases"
    assert (words in " ".join(capsys.readouterr().err.split())) is told


def test_a_race_over_one_seed_decides_nothing(scenario, tmp_path, capsys):
    assert andrea("race", scenario, "--policies", "ucb1", "--seeds", 1, "--out", tmp_path / "race") == 0
    said = capsys.readouterr().out
    assert "120 steps, 1 seed; thousandths" in said
    assert [line.split("|")[5].strip() for line in said.splitlines() if line.startswith("| ucb1 |")] == ["undecided"]
    assert "one seed says nothing of others" in said
    assert "1 seed<" in (tmp_path / "race" / "race.svg").read_text(encoding="utf-8")
