"""Where wall time goes: each stretch of the loop is booked to one account."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from andrea_core.values import Vector

ACCOUNTS = ("data", "model", "policy", "recording", "probes")


class Stopwatch:
    """Seconds by account since the last reading, and the steps taken meanwhile; those that a resume found are none."""

    def __init__(self) -> None:
        self.steps = 0
        self._seconds = dict.fromkeys(ACCOUNTS, 0.0)

    @contextmanager
    def on(self, account: str) -> Iterator[None]:
        """Book the time of a block."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[account] += time.perf_counter() - start

    def read(self) -> Vector:
        """Return the seconds of each account, (5,), and start again from 0."""
        seconds = np.array([self._seconds[account] for account in ACCOUNTS])
        self._seconds, self.steps = dict.fromkeys(ACCOUNTS, 0.0), 0
        return seconds
