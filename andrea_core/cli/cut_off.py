"""Output that nobody reads any more, as after `andrea plugins | head -1`: the command ends there, and quietly."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class CutOff(BaseException):
    """Whoever read the output has gone; no `except Exception` on the way takes it for a fault."""


@contextmanager
def until_cut_off() -> Iterator[None]:
    """Turn output to a closed pipe into a CutOff, and the exit that a library makes of it.

    Click and Rich end the program where a pipe is closed: Click with an exit that keeps no trace of the reason, so that
    it has to be caught before Click sees it.
    """
    try:
        yield
    except BrokenPipeError as error:
        raise CutOff from error
    except SystemExit as error:
        if _after_closed_pipe(error):
            raise CutOff from error
        raise


def _after_closed_pipe(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, BrokenPipeError):
        error = error.__context__
    return error is not None


def usable_streams() -> None:
    """Give a closed standard stream somewhere to go, and let letters that an encoding lacks become question marks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  # to the process's end
        elif isinstance(stream, io.TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="replace")


def hush() -> None:
    """Send what still waits for a closed pipe nowhere: the interpreter flushes at its end, and would complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
