"""The command line: the commands of `andrea`, each loaded when it is asked for, and the exit codes."""

import os
import re
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from andrea_core import __version__
from andrea_core.cli.arguments import refuse_undecodable
from andrea_core.cli.cut_off import CutOff, hush, until_cut_off, usable_streams
from andrea_core.errors import AndreaError
from andrea_core.launched import speaks_for_all

_COMMANDS = {
    "run": "andrea_core.cli.running:run",
    "resume": "andrea_core.cli.running:resume",
    "fork": "andrea_core.cli.fork:fork",
    "pivot": "andrea_core.cli.pivot:pivot",
    "show": "andrea_core.cli.show:show",
    "region": "andrea_core.cli.region:region",
    "plugins": "andrea_core.cli.plugins:plugins",
    "report": "andrea_core.cli.report:report",
    "simulate": "andrea_core.cli.simulate:simulate",
    "race": "andrea_core.cli.race:race",
    "replay": "andrea_core.cli.replay:replay",
    "generate": "andrea_core.cli.generate:generate",
    "eval": "andrea_core.cli.evaluate:evaluate",
    "probe": "andrea_core.cli.probe:probe",
    "export": "andrea_core.cli.export:export",
    "bench": "andrea_core.cli.bench:bench",
    "corpus": "andrea_core.cli.corpus:corpus",
    "completion": "andrea_core.cli.completion:completion",
}
UNFORESEEN, BAD_INPUT, STOPPED, INTERRUPTED = 1, 2, 3, 130
COMPLETING = "_ANDREA_COMPLETE"
"""The variable by which a shell that completes a command asks for the words that fit."""


class _Lazy(click.Group):
    """A group that imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which one meets them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None for an unknown name."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; an unknown one is refused with the nearest spelling."""
        from andrea_core.spelling import nearest

        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"no command is called {args[0]!r}{nearest(args[0], _COMMANDS)}")
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments, which may print help, as click does; a closed pipe is told apart from other errors."""
        with until_cut_off():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command as click does; a closed pipe is told apart from other errors."""
        with until_cut_off():
            return super().invoke(ctx)


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="andrea")
def andrea() -> None:
    """Train small language models under a curriculum, and see what the order and the mix of the data did."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. Exit codes: 0 success, 2 bad input, 3 a probe stopped the run, 130 interrupted.

    What nobody foresaw ends with its traceback, a line that asks to report it, and exit code 1. Output that nobody
    reads any more ends the command quietly.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    usable_streams()
    try:
        with until_cut_off():
            code = _answered(given)
            sys.stdout.flush()
    except CutOff:
        hush()
        code = 0
    sys.exit(code)


def _answered(given: list[str]) -> int:
    """Run a command and return its exit code, having said what went wrong."""
    try:
        refuse_undecodable(given)
        code = andrea.main(given, standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt, click.ClickException, AndreaError) as error:
        return _expected(error)
    except BrokenPipeError:
        raise
    except SystemExit as error:
        if COMPLETING in os.environ:
            raise  # click's answer to the shell that asks for completions
        return _say(f"error: a plugin or library ended the program (exit code {error.code!r}); mend it", BAD_INPUT)
    except (OSError, UnicodeError, MemoryError, RecursionError) as error:
        return _say(f"error: {_last_resort(error)}", BAD_INPUT)
    except Exception as error:
        return _unforeseen(error)
    return code if isinstance(code, int) else 0


def _expected(error: BaseException) -> int:
    """Say what a foreseen ending is, and return its exit code."""
    if isinstance(error, click.ClickException):
        if speaks_for_all():  # ranks were all given the same arguments
            error.show()
        return BAD_INPUT
    if isinstance(error, AndreaError):
        return BAD_INPUT if error.told else _say(f"error: {error}", BAD_INPUT)
    return _say("interrupted" if isinstance(error, KeyboardInterrupt) else "stopped", INTERRUPTED)


def _unforeseen(error: Exception) -> int:
    """Show an error that nobody foresaw; PyTorch says in a RuntimeError that memory ran out."""
    if isinstance(error, RuntimeError) and re.search("can't allocate memory|out of memory", str(error)):
        return _say(f"error: {_last_resort(MemoryError(str(error).partition(chr(10))[0]))}", BAD_INPUT)
    traceback.print_exc()
    return _say("This is a fault in andrea or in a plugin. Please report it with the lines above.", UNFORESEEN)


def _last_resort(error: BaseException) -> str:
    """Return one message for what the machine refuses: files, memory, depth."""
    if isinstance(error, OSError) and error.strerror:
        what = f"{error.filename}: " if error.filename else ""
        return f"{what}{error.strerror}; check the path, its permissions and the free space"
    if isinstance(error, MemoryError):
        return f"there is not enough memory ({str(error) or 'MemoryError'}); choose a smaller model, context or batch"
    frames = traceback.extract_tb(error.__traceback__)
    place = f" (line {frames[-1].lineno} of {frames[-1].filename})" if frames else ""
    return f"{type(error).__name__}: {error}{place}; check names and texts that were given"


def _say(text: str, code: int) -> int:
    click.echo(text.encode("utf-8", "backslashreplace").decode(), err=True)
    return code
