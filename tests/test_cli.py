"""The command line: fast help, exit codes, one message, what a run prints and leaves."""

import re
import subprocess
import sys

import pytest

from andrea_core.cli import _COMMANDS, main


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["runn"], ["no command", "did you mean 'run'"]),
        (["run"], ["SCENARIO"]),
        (["run", "nope.toml"], ["nope.toml", "does not exist"]),
        (["run", "TINY", "--profile", "laptopp"], ["no profile", "laptopp"]),
        (["run", "TINY", "--set", "run.steps=0"], ["steps must be at least 1"]),
        (["run", "TINY", "--threads", "0"], ["threads"]),
        (["run", "TINY", "--device", "tpu"], ["tpu"]),
        (["run", "TINY", "--plugin", "missing.py"], ["missing.py", "does not exist"]),
        (["resume", "nowhere"], ["nowhere", "no run folder"]),
        (["resume", "."], ["no run folder", "scenario.toml"]),
        (["report", "nowhere"], ["nowhere"]),
        (["generate", "nowhere"], ["no run folder"]),
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
    )
    code, out, err = call(capfd, "run", scenario, "--out", tmp_path / "run", "--threads", 1, "--device", "cpu")

    assert code == 3
    assert "stopped early by a probe: text_health" in err
    assert "requested" in out
