"""`andrea completion`: print the script that teaches a shell to complete andrea's commands."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a SHELL.

    For bash: andrea completion bash > ~/.andrea-completion && echo '. ~/.andrea-completion' >> ~/.bashrc
    """
    from andrea_core.cli import andrea

    maker = get_completion_class(shell)
    if maker is not None:
        click.echo(maker(andrea, {}, "andrea", "_ANDREA_COMPLETE").source())
