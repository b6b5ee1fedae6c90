"""Arguments, folders, plugins and machines that cannot be: one message and exit code 2, never a traceback."""

import io
import subprocess
import sys

import click
import numpy as np
import pytest

from andrea_core import cli
from andrea_core.cli import main
from andrea_core.cli.console import Live
from andrea_core.errors import PluginError
from andrea_core.plugins import Catalogue

HOOK = "from andrea_core import hookimpl\n@hookimpl\ndef andrea_policies():\n    {}\n"


def call(capfd, *arguments):
    """(exit code, stdout, stderr) of a command in this process."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return (stopped.value.code or 0, *capfd.readouterr())


@pytest.mark.parametrize(
    ("option", "value"), [("--temperature", "nan"), ("--temperature", "inf"), ("--top-p", "nan"), ("--top-p", "2")]
)
def test_generate_refuses_numbers_that_are_none(capfd, tmp_path, option, value):
    code, _, err = call(capfd, "generate", tmp_path, option, value)

    assert code == 2
    assert option in err


@pytest.mark.parametrize("argument", ["--prompt=caf\udce9", "--prompt=\ud800", "--prompt=a\0b"])
def test_arguments_that_are_no_text_are_refused_with_their_number(capfd, tmp_path, argument):
    code, _, err = call(capfd, "generate", tmp_path, argument)

    assert code == 2
    assert "argument 3 " in err
    assert "Traceback" not in err


@pytest.mark.parametrize("out", ["file/x", "file/x/y", "link", "link/x", "y" * 300, "/proc/nothing-can-be-made-here"])
def test_a_run_folder_that_cannot_be_made_is_named(tiny, tmp_path, monkeypatch, capfd, out):
    if out.startswith("/proc") and sys.platform != "linux":
        pytest.skip("a folder in which root cannot write either exists only there")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "gone" / "away")
    code, _, err = call(capfd, "run", tiny, "--out", out, "--device", "cpu", "--threads", 1)

    assert code == 2
    assert err.startswith("error: ")
    assert out in err
    assert "--out" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["run", "resume"])
def test_python_without_assertions_is_refused_at_the_start(tiny, tmp_path, command):
    done = subprocess.run(
        [sys.executable, "-O", "-m", "andrea_core", command, str(tiny if command == "run" else tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert done.returncode == 2
    assert done.stderr.startswith("error: runs cannot be recorded under python -O")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(5, "Input/output error", "disk"), "error: disk: Input/output error"),
        (MemoryError(), "error: there is not enough memory"),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory\nmore"),
            "error: there is not enough memory (D",
        ),
        (RuntimeError("CUDA out of memory. Tried 9 GiB"), "error: there is not enough memory (CUDA"),
        (RecursionError("too deep"), "error: RecursionError: too deep (line "),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"), "error: UnicodeEncodeError: "),
        (SystemExit(0), "error: a plugin or library ended the program (exit code 0)"),
    ],
)
def test_what_the_machine_refuses_is_one_message(monkeypatch, capfd, error, words):
    monkeypatch.setattr(cli.andrea, "main", _raising(error))
    code, _, err = call(capfd, "run")

    assert code == 2
    assert err.startswith(words)
    assert err.count("\n") == 1


def test_what_nobody_foresaw_keeps_its_traceback_and_asks_to_be_reported(monkeypatch, capfd):
    monkeypatch.setattr(cli.andrea, "main", _raising(ZeroDivisionError("by nought")))
    code, _, err = call(capfd, "run")

    assert code == 1
    assert "Traceback" in err
    assert "ZeroDivisionError: by nought" in err
    assert "report it" in err.splitlines()[-1]


def test_an_error_message_with_a_lone_surrogate_can_be_printed(monkeypatch, capfd):
    monkeypatch.setattr(cli.andrea, "main", _raising(OSError(2, "No such file", "caf\udce9")))

    assert call(capfd, "run")[0::2] == (
        2,
        "error: caf\\udce9: No such file; check the path, its permissions and the free space\n",
    )


def _raising(error):
    def broken(*_arguments, **_options):
        raise error

    return broken


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("raise SystemExit(0)\n", "failed to load: SystemExit: 0 (line 1"),
        ("import sys\nsys.exit()\n", "failed to load: SystemExit"),
        (HOOK.format("raise ValueError('so')"), "the hook andrea_policies of plugin p"),
        (HOOK.format("raise SystemExit(0)"), "failed: SystemExit: 0 (line 4"),
        (HOOK.format("return None"), "must return a table such as"),
        (HOOK.format("return [int]"), "must return a table such as"),
        (HOOK.format("yield 3"), "must return a table such as"),
        (HOOK.format("return {1: int}"), "must name its classes by texts, got 1"),
        (HOOK.format("return {'': int}"), "must name its classes by texts, got ''"),
    ],
)
def test_a_plugin_that_ends_the_program_or_registers_nonsense_is_blamed(tmp_path, text, words):
    path = tmp_path / "p.py"
    path.write_text(text)
    with pytest.raises(PluginError) as caught:
        Catalogue.of([str(path)])

    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_an_interrupt_while_a_plugin_loads_is_an_interrupt(tmp_path):
    path = tmp_path / "p.py"
    path.write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        Catalogue.of([str(path)])


@pytest.mark.parametrize("name", ["[/x]", "[bold]x", ":smile:"])
def test_the_live_display_shows_names_as_they_are(name):
    live = Live()
    live.console.file = io.StringIO()
    live.open(name, f"runs/{name}", (name,), 0, 10)
    live.phase_began(name, 1, name, np.array([1.0]))
    live.note(f"{name} says {name}")
    live.console.print(live._text(0))
    live.close()
    text = live.console.file.getvalue()

    assert f"{name}: 1 source, 10 steps" in text
    assert f"{name} says {name}" in text
    assert f"{name} 1.00" in text


def test_the_progress_of_building_shows_names_as_they_are(monkeypatch, capfd):
    from andrea_core.cli.corpus import _progress

    monkeypatch.setenv("FORCE_COLOR", "1")
    with _progress() as report:
        report("[/x]: reading")

    assert "[/x]: reading" in capfd.readouterr().out


def test_usage_errors_are_still_clicks_own(capfd):
    code, _, err = call(capfd, "run", "--nonsense")

    assert code == 2
    assert click.utils.strip_ansi(err).startswith("Usage:")
