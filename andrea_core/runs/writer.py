"""One thread that writes while the loop goes on: one piece of work at a time; its errors reach whoever waits."""

import threading
from collections.abc import Callable
from types import TracebackType


class Writer:
    """Does work beside the main thread.

    A piece of work starts when the one before has ended. What it raises is kept, and raised once, by the next `wait`,
    `check` or `start`. Used as a context it waits at the end; an error that is already on its way goes first.
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Whether work is going on."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, work: Callable[[], None]) -> None:
        """Begin a piece of work, after the one before."""
        self.wait()
        self._thread = threading.Thread(target=self._do, args=(work,), name="andrea-writer")
        self._thread.start()

    def wait(self) -> None:
        """Wait for the end of the work; raises what it raised."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error

    def check(self) -> None:
        """Raise what work that has ended raised; waits for nothing."""
        if not self.busy:
            self.wait()

    def __enter__(self) -> "Writer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.wait()
        except Exception:
            if error is None:
                raise

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self._error = error
