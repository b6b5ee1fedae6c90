"""Whether a plugin's work and memory grow faster than the number of sources, counted in instructions and bytes."""

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import attrs

from andrea_core.testing.calls import fail

MANY = 10_000
"""The number of sources that every plugin has to bear."""

SIZES = (200, 400)
"""The numbers of sources whose costs are compared: what is linear doubles, what is quadratic grows fourfold."""

STEEP = 2.6
"""Growth over one doubling that is more than n log n (2.3 times) explains, and less than a square's (4 times)."""

TABLES = 5.2
"""Growth of memory that a plugin may have which is handed K^2 numbers: a square's and a little, not a cube's (8)."""

FREE = (50_000, 200_000)
"""Instructions and bytes under which growth is noise."""


class _TooMuch(BaseException):
    """Ends a call that has used up its instructions; no plugin catches it by `except Exception`."""


@attrs.define
class Cost:
    """What the calls of a plugin took: instructions of Python's interpreter, and the most memory at once in bytes."""

    instructions: int = 0
    memory: int = 0
    limit: int | None = None

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Count an instruction, but those of the core itself; raises when there are more than the limit."""
        if frame.f_globals.get("__name__", "").startswith("andrea_core."):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self.instructions += event == "opcode"
        if self.limit is not None and self.instructions > self.limit:
            raise _TooMuch
        return self.trace


def check_growth(
    plugin: Any, method: str, work: Callable[[int], Callable[[], object]], *, tables: bool = False
) -> None:
    """Fail when the calls that `work(count)` returns cost more than about twice as much for twice the sources.

    With `tables`, for plugins that are handed K^2 numbers (`source_gradients`), memory may grow fourfold; instructions
    may not: such tables are for array operations, loops over pairs in Python take minutes.

    No clock is read: instructions are counted, which loops in Python need, and bytes, which numpy's tables need.
    """
    few, most = Cost(), Cost()
    work(SIZES[0] // 2)()  # what is imported at first use is no cost of size
    calls = work(SIZES[0])
    with _counted(few):
        calls()
    most.limit = int(STEEP * few.instructions) + FREE[0]
    calls = work(SIZES[1])
    try:
        with _counted(most):
            calls()
    except _TooMuch:
        fail(plugin, method, _advice("instructions", few.instructions, most.instructions, tables=tables))
    if most.memory > (TABLES if tables else STEEP) * few.memory + FREE[1]:
        fail(plugin, method, _advice("bytes", few.memory, most.memory, tables=tables))


def _advice(what: str, few: int, most: int, *, tables: bool) -> str:
    found = f"takes {few} {what} for {SIZES[0]} sources and {most} or more for {SIZES[1]}; "
    if tables:
        return (
            f"{found}of K sources, gradients are tables of K^2 numbers: work on them with array operations, without "
            "loops over pairs and without tables over triples"
        )
    return (
        f"{found}work and memory must grow with the number of sources, not with its square: {MANY} sources have to be "
        "borne, so leave out loops and tables over pairs"
    )


@contextmanager
def _counted(cost: Cost) -> Iterator[None]:
    before, tracing = sys.gettrace(), tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    tracemalloc.reset_peak()
    held = tracemalloc.get_traced_memory()[0]
    sys.settrace(cost.trace)
    try:
        yield
    finally:
        sys.settrace(before)
        cost.memory = tracemalloc.get_traced_memory()[1] - held
        if not tracing:
            tracemalloc.stop()
