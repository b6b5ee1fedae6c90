"""Times calls side by side, in processor seconds, and prints figures with the bars that they have to clear."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

TURN = 1e-3
Calls = Mapping[str, Callable[[], Any]]


@attrs.define
class Report:
    """Prints as it goes; remembers which bars were missed."""

    missed: list[str] = attrs.field(factory=list)
    met: int = 0

    def title(self, text: str) -> None:
        print(f"\n{text}", flush=True)

    def say(self, label: str, figures: str) -> None:
        print(f"  {label:<44} {figures}", flush=True)

    def at_least(self, label: str, value: float, bar: float, unit: str = "x") -> None:
        self._judge(label, f"{value:.3g}{unit} (bar: at least {bar:g}{unit})", value >= bar)

    def at_most(self, label: str, value: float, bar: float, unit: str = "") -> None:
        self._judge(label, f"{value:.3g}{unit} (bar: at most {bar:g}{unit})", value <= bar)

    def holds(self, label: str, what: str, passed: bool) -> None:
        self._judge(label, what, passed)

    def _judge(self, label: str, figures: str, passed: bool) -> None:
        self.say(label, f"{figures}  {'PASS' if passed else 'MISSED'}")
        if passed:
            self.met += 1
        else:
            self.missed.append(label)

    def close(self) -> int:
        """Print the count and return the exit code."""
        print(f"\n{self.met} bars met, {len(self.missed)} missed{': ' if self.missed else ''}{'; '.join(self.missed)}")
        return 1 if self.missed else 0


def side_by_side(cases: list[Calls], calls_in_case: int = 1, turns: int = 3) -> dict[str, float]:
    """Return the median processor seconds of one call by name, over the cases.

    In each case every name gets `turns` turns of at least TURN seconds, in rotation, and its best turn counts. A call
    may do the same thing `calls_in_case` times, on different data.
    """
    spent: dict[str, list[float]] = {}
    for calls in cases:
        fastest = dict.fromkeys(calls, float("inf"))
        for _ in range(turns):
            for name, call in calls.items():
                fastest[name] = min(fastest[name], _turn(call) / calls_in_case)
        for name, best in fastest.items():
            spent.setdefault(name, []).append(best)
    return {name: float(np.median(times)) for name, times in spent.items()}


def _turn(call: Callable[[], Any]) -> float:
    """Return the processor seconds of a call, by calling until they can be told, once more than TURN has passed."""
    call()
    start, count = time.process_time(), 0
    while True:
        call()
        count += 1
        spent = time.process_time() - start
        if spent >= TURN:
            return spent / count


def seconds(call: Callable[[], Any]) -> float:
    """Return the processor seconds of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def median(call: Callable[[], Any], repeats: int) -> float:
    """Return the median processor seconds of a call."""
    return float(np.median([seconds(call) for _ in range(repeats)]))
