"""The command line: `andrea run | resume | show | region | plugins | report | generate | corpus`."""

import sys
from collections.abc import Sequence
from importlib import import_module

import click

from andrea_core import __version__
from andrea_core.errors import AndreaError

_COMMANDS = {
    "run": "andrea_core.cli.running:run",
    "resume": "andrea_core.cli.running:resume",
    "show": "andrea_core.cli.show:show",
    "region": "andrea_core.cli.region:region",
    "plugins": "andrea_core.cli.plugins:plugins",
    "report": "andrea_core.cli.report:report",
    "generate": "andrea_core.cli.generate:generate",
    "corpus": "andrea_core.cli.corpus:corpus",
    "completion": "andrea_core.cli.completion:completion",
}
BAD_INPUT, STOPPED, INTERRUPTED = 2, 3, 130


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


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="andrea")
def andrea() -> None:
    """Train small language models under a curriculum, and see what the order and the mix of the data did."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. Exit codes: 0 success, 2 bad input, 3 a probe stopped the run, 130 interrupted."""
    try:
        code = andrea.main(list(arguments) if arguments is not None else None, standalone_mode=False)
    except click.exceptions.Abort:
        code = _say("stopped", INTERRUPTED)
    except KeyboardInterrupt:
        code = _say("interrupted", INTERRUPTED)
    except click.ClickException as error:
        error.show()
        code = BAD_INPUT
    except AndreaError as error:
        code = _say(f"error: {error}", BAD_INPUT)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read the output has gone; there is nobody to tell
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def _say(text: str, code: int) -> int:
    click.echo(text, err=True)
    return code
