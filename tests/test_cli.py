"""The command line: fast help, exit codes, one message, what a run prints and leaves."""

import io
import re
import subprocess
import sys

import numpy as np
import pytest

from andrea_core import open_run
from andrea_core.cli import _COMMANDS, main
from andrea_core.cli.console import Live
from andrea_core.progress import PhaseReport


def call(capfd, *arguments):
    """(exit code, stdout, stderr) of a command in this process."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return stopped.value.code or 0, out, err


@pytest.fixture
def finished(tiny, tmp_path, capfd):
    code, out, err = call(capfd, "run", tiny, "--out", tmp_path / "run", "--threads", 1, "--device", "cpu")
    assert code == 0, err
    return tmp_path / "run", out


@pytest.mark.parametrize("command", [(), *((name,) for name in _COMMANDS)])
def test_help_imports_no_torch_numpy_or_plugin(command):
    code = f"""
import sys
from andrea_core.cli import main
try:
    main([*{list(command)!r}, "--help"])
finally:
    heavy = {{"torch", "numpy", "zarr", "pandas", "plotly", "andrea_plugins"}} & set(sys.modules)
    print("heavy:", sorted(heavy))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "Usage:" in done.stdout
    assert done.stdout.endswith("heavy: []\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(capfd, shell):
    code, out, _ = call(capfd, "completion", shell)

    assert code == 0
    assert "_ANDREA_COMPLETE" in out


def test_a_run_prints_a_line_a_phase_a_summary_and_where_everything_is(finished):
    folder, out = finished
    lines = [line for line in out.splitlines() if re.match(r"step \d+/40 ", line)]

    assert 4 <= len(lines) <= 14
    assert all(re.search(r"loss \d+\.\d+ .*tok/s .*left .*(birds|ships|clocks) 0\.\d\d", line) for line in lines)
    for word in ("birds", "ships", "clocks", "requested", "drawn", "trained"):
        assert word in out
    assert str(folder / "report.html") in out
    assert (folder / "report.html").stat().st_size > 10_000


def test_generate_is_a_function_of_the_seed_and_names_unknown_steps(finished, capfd):
    folder, _ = finished
    texts = [call(capfd, "generate", folder, "--prompt", "birds", "--tokens", 40, "--seed", seed) for seed in (1, 1, 2)]

    assert [text[0] for text in texts] == [0, 0, 0]
    assert texts[0] == texts[1] != texts[2]
    assert texts[0][1].startswith("birds")
    code, _, err = call(capfd, "generate", folder, "--at", 3)
    assert code == 2
    assert "no checkpoint of step 3" in err


def test_resume_of_a_complete_run_says_so(finished, capfd):
    code, out, _ = call(capfd, "resume", finished[0])

    assert code == 0
    assert "is complete" in out


def test_show_prints_a_scenario_that_gives_itself_again(tiny, tmp_path, capfd):
    code, out, _ = call(capfd, "show", tiny, "--scale", 2)
    assert code == 0
    assert "# digest" in out
    assert "# stage polish: steps 52 to 80" in out
    assert re.search(r"# model 2 layers of width 32, 2 heads, context 32: 42,048 parameters; 10,240 tokens", out)
    resolved = tmp_path / "resolved.toml"
    resolved.write_text(out)
    again = call(capfd, "show", resolved)[1]

    assert re.search(r"# digest (\w+)", again)[1] == re.search(r"# digest (\w+)", out)[1]


def test_show_warns_when_a_stage_has_fewer_decisions_than_sources(tiny, capfd):
    _, out, _ = call(capfd, "show", tiny, "--set", "phases.low=9")

    assert "warning: fewer decisions than sources" in out


def test_plugins_lists_every_component_and_its_settings(capfd):
    _, out, _ = call(capfd, "plugins")
    assert all(
        word in out for word in ("ucb1", "dice", "floors", "staged", "heldout", "text_health", "registry", "jsonl")
    )
    _, out, _ = call(capfd, "plugins", "ucb1")

    assert "step: float = 0.5" in out
    assert "Auer" in out
    assert "landing: str = 'euclidean'" in out
    _, out, _ = call(capfd, "plugins", "staged")
    assert all(f"  {field}: " in out for field in ("name", "until", "sources", "constraints"))
    _, out, _ = call(capfd, "plugins", "probes")
    assert all(word in out for word in ("heldout (probes", "text_health (probes", "every: int | None = None"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["runn"], ["no command", "did you mean 'run'"]),
        (["run"], ["SCENARIO"]),
        (["run", "nope.toml"], ["nope.toml", "does not exist"]),
        (["run", "TINY", "--profile", "laptopp"], ["no profile", "laptopp"]),
        (["run", "TINY", "--set", "run.steps=0"], ["--set: run.steps", "steps must be at least 1"]),
        (["run", "TINY", "--threads", "0"], ["threads"]),
        (["run", "TINY", "--device", "tpu"], ["tpu"]),
        (["run", "TINY", "--plugin", "missing.py"], ["missing.py", "does not exist"]),
        (["resume", "nowhere"], ["nowhere", "no run folder"]),
        (["resume", "."], ["no run folder", "scenario.toml"]),
        (["report", "nowhere"], ["nowhere"]),
        (["generate", "nowhere"], ["no run folder"]),
        (["run", "TINY", "--set", "run.steps=20"], ["stage 'polish' begins at step 26", "ends at step 20"]),
        (["run", "TINY", "--set", "policy.landing=foo"], ["--set: policy.landing", "'euclidean', 'kl'"]),
        (["run", "TINY", "--set", "polcy.use=random"], ["--set: polcy", "did you mean 'policy'"]),
        (["plugins", "ucb2"], ["did you mean 'ucb1'"]),
    ],
)
def test_bad_input_is_one_message_and_exit_2(tiny, tmp_path, monkeypatch, capfd, arguments, words):
    monkeypatch.chdir(tmp_path)
    code, _, err = call(capfd, *[tiny if argument == "TINY" else argument for argument in arguments])

    assert code == 2
    assert "Traceback" not in err
    for word in words:
        assert word in err


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: [f.unlink() for f in folder.glob("birds-*")], ["'birds'", "birds-*.txt"]),
        (
            lambda folder: [f.unlink() for f in folder.glob("birds-[0-2]?.txt") if "-00" not in f.name],
            ["birds", "held-out"],
        ),
        (lambda folder: (folder / "birds-04.txt").write_bytes(b"caf\xe9 noir"), ["birds-04.txt", "UTF-8", "3"]),
    ],
)
def test_text_that_cannot_be_used_is_named(tiny, tmp_path, capfd, make, words):
    make(tmp_path / "text")
    code, _, err = call(capfd, "run", tiny, "--out", tmp_path / "run", "--device", "cpu")

    assert code == 2
    for word in words:
        assert word in err
    assert not (tmp_path / "run").exists()


def test_a_gated_run_stops_with_exit_3_and_says_why(tiny, tmp_path, capfd):
    scenario = tiny.with_name("gated.toml")
    scenario.write_text(
        'extends = "tiny.toml"\n[[probes]]\nuse = "text_health"\nevery = 1\ntokens = 30\nfloor = 100\npatience = 2\n'
        '[[probes]]\nuse = "heldout"\nat_end = true\n'
    )
    code, out, err = call(capfd, "run", scenario, "--out", tmp_path / "run", "--threads", 1, "--device", "cpu")

    assert code == 3
    assert "stopped early by a probe: text_health" in err
    assert "requested" in out
    run = open_run(tmp_path / "run")
    assert run.evals["step"][-1] == len(run.steps["loss"]) < 40  # what is to be measured at the end was measured here


def test_the_live_display_says_everything_in_two_lines_of_80_columns(monkeypatch):
    from rich.console import Console

    live = Live()
    live.console = Console(width=80, file=io.StringIO())
    live._sources, live._total, live._where, live._last = ("a" * 20, "b" * 20, "c" * 20), 2000, "", ""
    live.phase_began("firehose", 37, "ucb1", np.array([0.5, 0.3, 0.2]))
    live.phase_done(PhaseReport(400, 2000, 36, 20, "firehose", "ucb1", 2.345, 18765.0, 83.0, np.array([1.0, 0, 0])))
    live.console.print(live._text(400))
    lines = live.console.file.getvalue().splitlines()

    assert len(lines) == 2
    assert all(len(line) <= 80 for line in lines)
    assert "step 400/2000  firehose, phase 37 ucb1" in lines[0]
    assert lines[1].startswith("loss 2.345  18,765 tok/s  1:23 left  " + "a" * 20 + " 0.50")


def test_a_reader_that_has_seen_enough_ends_the_command_quietly():
    command = [sys.executable, "-m", "andrea_core", "region", "--sources", "a,b,c", "--floors", "a=0.5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        said = process.stderr.read()

    assert (process.returncode, said) == (0, "")
