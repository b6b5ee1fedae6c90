"""Processes that run heats: deaf to Ctrl-C from their first moment, and stopped by the process that started them."""

import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, resource_tracker


@contextmanager
def workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of `jobs` processes; a block that ends early ends what they are at, too.

    Work must be given inside `uninterrupted`: the pool starts a process when it is given work.
    """
    others = set(active_children())
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_ignore) as pool:
        try:
            yield pool
        except BaseException:
            for process in set(active_children()) - others:
                process.terminate()
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back: processes that are started here never see it, and it comes to this one when the block ends.

    A terminal sends it to all of them. A process has no handler of its own before it has imported what it runs, so it
    must be held back when the process begins; the mask of held signals is what a new process inherits.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # when the first process starts it, it lets go of the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ignore() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
