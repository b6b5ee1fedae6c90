"""Signals while a run is trained, and while one of several ranks ends with an error."""

import os
import signal
from collections.abc import Iterator

import pytest

from andrea_core.stopping import signals


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def test_a_signal_is_a_wish_to_stop_and_the_handlers_come_back() -> None:
    asked: list[int] = []
    before = signal.getsignal(signal.SIGTERM)
    with signals(asked.append, ranks=1):
        os.kill(os.getpid(), signal.SIGTERM)

    assert asked == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGTERM) is before


def test_torchruns_end_of_a_rank_that_is_failing_waits_until_it_has_said_why() -> None:
    with pytest.raises(ValueError, match="disk on fire"), signals(lambda _: None, ranks=2):
        raise ValueError("disk on fire")
    os.kill(os.getpid(), signal.SIGTERM)  # would end the process

    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_a_run_alone_that_fails_heeds_its_signals_as_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ValueError, match="disk on fire"), signals(lambda _: None, ranks=1):
        raise ValueError("disk on fire")

    assert signal.getsignal(signal.SIGTERM) is before
