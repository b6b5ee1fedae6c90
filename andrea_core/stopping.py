"""Signals that end a run after its present step, with a checkpoint."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


def finish_undisturbed() -> None:
    """Ignore SIGTERM from here on: torchrun sends it when a rank has died, and this one has yet to say why it ends."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


@contextmanager
def signals(ask_to_stop: Callable[[int], None], ranks: int) -> Iterator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into a wish to stop, told by their number; a second one stops at once.

    Of several ranks each gets Ctrl-C twice, from the terminal and from torchrun: soon after, it is the same one. One
    that ends with an error does not heed SIGTERM any more.
    """
    patience, asked = (2.0 if ranks > 1 else 0.0), dict[int, float]()
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, _frame: FrameType | None) -> None:
        first = asked.setdefault(number, time.monotonic())
        if time.monotonic() - first >= patience:
            signal.signal(number, previous[number])
            if patience:
                signal.raise_signal(number)
        ask_to_stop(number)

    previous: dict[int, Any] = {}
    for wanted in (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])):
        previous[wanted] = signal.signal(wanted, handle)
    try:
        yield
    except Exception:
        if ranks > 1:
            previous[signal.SIGTERM] = signal.SIG_IGN  # at no moment between the error and its telling is it heeded
        raise
    finally:
        for number, old in previous.items():
            signal.signal(number, old)
