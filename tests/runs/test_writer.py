"""The writer: one piece of work at a time beside the main thread, and no error is lost."""

import threading

import pytest

from andrea_core.runs.writer import Writer


def test_work_is_done_in_order_one_piece_at_a_time_in_another_thread():
    writer, done, gate = Writer(), [], threading.Event()
    writer.start(lambda: (gate.wait(10), done.append((1, threading.current_thread()))))
    assert writer.busy
    assert done == []
    gate.set()
    writer.start(lambda: done.append((2, threading.current_thread())))
    writer.wait()

    assert [number for number, _ in done] == [1, 2]
    assert threading.main_thread() not in [thread for _, thread in done]
    assert not writer.busy


@pytest.mark.parametrize("ask", [Writer.wait, lambda writer: writer.start(lambda: None), Writer.__enter__])
def test_an_error_is_raised_once_by_whoever_waits_next(ask):
    writer = Writer()
    writer.start(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        with writer:
            ask(writer)

    writer.wait()


def test_a_check_waits_for_nothing_and_raises_what_has_failed():
    writer, gate = Writer(), threading.Event()
    writer.start(lambda: (gate.wait(10), 1 / 0))
    writer.check()
    gate.set()
    while writer.busy:
        pass

    with pytest.raises(ZeroDivisionError):
        writer.check()
    writer.check()


def test_an_error_that_is_on_its_way_goes_before_the_writers():
    writer = Writer()

    def work():
        with writer:
            writer.start(lambda: 1 / 0)
            raise KeyError

    with pytest.raises(KeyError):
        work()
    writer.wait()
