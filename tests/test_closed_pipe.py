"""Output into a pipe that is closed, as by `| head -1`, ends every command quietly."""

import os
import subprocess
import sys

import pytest

from andrea_core.cli import _COMMANDS, main

PRINTING = [
    ("--help",),
    ("--version",),
    ("plugins",),
    ("plugins", "ucb1"),
    ("completion", "bash"),
    ("corpus", "--help"),
]


def closed_pipe():
    """The writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def cut_off(monkeypatch, capfd, *arguments):
    """(exit code, stderr) of a command whose output nobody reads, in this process."""
    with os.fdopen(closed_pipe(), "w", encoding="utf-8") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
    return stopped.value.code, capfd.readouterr().err


@pytest.mark.parametrize("arguments", [*PRINTING, *((name, "--help") for name in _COMMANDS)], ids=" ".join)
def test_a_command_whose_output_nobody_reads_ends_quietly(arguments, monkeypatch, capfd):
    assert cut_off(monkeypatch, capfd, *arguments) == (0, "")


def test_so_do_the_commands_of_scenarios_and_runs(tiny, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    run = ("simulate", tiny, "--out", tmp_path / "run")
    with pytest.raises(SystemExit):
        main([*map(str, run)])
    capfd.readouterr()
    commands = [
        ("show", tiny),
        ("region", tiny),
        run,
        ("show", tmp_path / "run"),
        ("report", tmp_path / "run"),
        ("replay", tmp_path / "run"),
        ("replay", tmp_path / "run", "--policy", "uniform"),
        ("race", tiny, "--policies", "ucb1", "--seeds", 1, "--jobs", 1),
        ("plugins", "new", "policy", "mine"),
    ]

    for command in commands:
        code, err = cut_off(monkeypatch, capfd, *command)
        assert (code, [line for line in err.splitlines() if "runs" not in line]) == (0, [])  # a race counts its runs


def test_a_plugin_that_ends_the_program_is_told_apart_and_a_bad_argument_is_still_said(monkeypatch, capfd, tmp_path):
    plugin = tmp_path / "quits.py"
    plugin.write_text("raise SystemExit(1)\n", encoding="utf-8")

    assert cut_off(monkeypatch, capfd, "nonsense")[0] == 2
    code, err = cut_off(monkeypatch, capfd, "show", "x.toml", "--plugin", plugin)
    assert code == 2
    assert err


@pytest.mark.parametrize("both", [False, True], ids=["output", "output and errors"])
def test_the_interpreter_does_not_complain_at_its_end(both):
    writing = closed_pipe()
    errors = writing if both else subprocess.PIPE
    done = subprocess.run(
        [sys.executable, "-m", "andrea_core", "plugins"], stdout=writing, stderr=errors, text=True, check=False
    )
    os.close(writing)

    assert done.returncode == 0
    assert both or done.stderr == ""


@pytest.mark.parametrize("closing", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(tiny, tmp_path, closing):
    for words in ("--version", f"show {tiny}", f"run {tiny} --set run.steps=30 --out {tmp_path / 'run'}"):
        command = f"{sys.executable} -m andrea_core {words} {closing}"
        done = subprocess.run(command, shell=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, words
    assert (tmp_path / "run/report.html").exists()


def test_an_encoding_without_some_letters_costs_those_letters_and_nothing_else(tiny, tmp_path):
    words = [
        sys.executable,
        "-m",
        "andrea_core",
        "run",
        str(tiny),
        "--set",
        "run.steps=30",
        "--out",
        str(tmp_path / "run"),
    ]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, env=environment, capture_output=True, check=False, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert b"report" in done.stdout
    assert (tmp_path / "run/report.html").exists()
