"""Arguments of the command line that click takes too easily: numbers that are none, and bytes that are no text."""

import math
import os
from collections.abc import Sequence
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A range of finite numbers; click's own lets `nan` pass every bound."""

    name = "finite number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; refuse it when it is not finite or out of the range."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class WholeNumber(click.IntRange):
    """A range of whole numbers; click's own names the range a type of number when it refuses a text."""

    name = "whole number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; refuse what is none or out of the range."""
        try:
            return super().convert(int(value), param, ctx)
        except (TypeError, ValueError):
            self.fail(f"{value!r} is not a whole number", param, ctx)


def refuse_undecodable(arguments: Sequence[str]) -> None:
    """Raise UsageError for an argument that is not valid text, such as a file name in another encoding."""
    for number, argument in enumerate(arguments, 1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            shown = argument.encode("utf-8", "surrogateescape") if _from_bytes(argument) else ascii(argument)
            raise click.UsageError(
                f"argument {number} is not valid UTF-8: {shown!r}; write it, or name the file, in UTF-8"
            ) from None
        if "\0" in argument:
            raise click.UsageError(f"argument {number} holds a NUL character: {argument!r}; leave it out")


def _from_bytes(argument: str) -> bool:
    return all(not "\ud800" <= sign <= "\udfff" or "\udc80" <= sign <= "\udcff" for sign in argument)


THREADS = click.IntRange(min=1, max=max(64, 4 * (os.cpu_count() or 1)))
"""Threads on the CPU: far more than it has cores make nothing faster, and the system may refuse them in mid-run."""


def note(text: str) -> None:
    """Print a line on the error stream."""
    click.echo(text, err=True)
