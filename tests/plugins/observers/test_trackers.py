"""The observers tensorboard and tracker: what they pass on, and what they say when a package is missing."""

import sys
from types import SimpleNamespace

import pytest

from andrea_core import AndreaError
from andrea_core.testing.worlds import make_sources
from andrea_plugins.observers import TensorBoard, Tracker
from andrea_plugins.observers.scalars import scalars

SOURCES = make_sources(("a", "b"))


def phase(number, **changes):
    told = {
        "phase": number,
        "start": 10 * number,
        "steps": 10,
        "stage": "warm",
        "loss": 2.0 - 0.5 * number,
        "weights": {"a": 0.25, "b": 0.75},
        "reward": {"a": float("nan"), "b": 0.5},
    }
    return told | changes


def test_numbers_get_the_names_of_their_tables_and_others_are_left_out():
    assert dict(scalars(phase(1, lr=float("inf")))) == {
        "phase": 1.0,
        "start": 10.0,
        "steps": 10.0,
        "loss": 1.5,
        "weights/a": 0.25,
        "weights/b": 0.75,
        "reward/b": 0.5,
    }


class FakeTracker(SimpleNamespace):
    """A module that remembers how it was called."""

    def __init__(self):
        super().__init__(calls=[])

    def init(self, **named):
        self.calls.append(("init", named))

    def log(self, values, step):
        self.calls.append(("log", step, values["loss"]))

    def finish(self):
        self.calls.append(("finish",))


def test_a_tracker_gets_a_run_of_the_folders_name_each_phase_at_its_end_and_a_finish(tmp_path, monkeypatch):
    fake = FakeTracker()
    monkeypatch.setitem(sys.modules, "mytracker", fake)
    observer = Tracker(module="mytracker", project="mixes")
    handle = observer.open(str(tmp_path / "run-1"), SOURCES)
    for number in range(2):
        observer.phase(handle, phase(number))
    observer.close(handle)

    assert fake.calls == [
        ("init", {"project": "mixes", "name": "run-1", "resume": "allow"}),
        ("log", 10, 2.0),
        ("log", 20, 1.5),
        ("finish",),
    ]


def test_a_missing_tracker_is_named_before_the_run_begins(tmp_path):
    with pytest.raises(AndreaError, match=r"needs the package `no_such_tracker`.*install it, or name another"):
        Tracker(module="no_such_tracker").open(str(tmp_path), SOURCES)


def test_a_module_that_is_no_tracker_is_refused(tmp_path):
    with pytest.raises(AndreaError, match=r"`json` has no init, log, finish; name a tracker"):
        Tracker(module="json").open(str(tmp_path), SOURCES)


def test_without_the_package_tensorboard_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(AndreaError, match=r"pip install andrea\[tracking\]"):
        TensorBoard().open(str(tmp_path), SOURCES)


def test_tensorboard_reads_back_what_was_written_and_a_resume_hides_what_it_repeats(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for first, loss in ((0, 2.0), (1, 9.0)):  # the second process repeats phase 1
        observer = TensorBoard()
        handle = observer.open(str(tmp_path), SOURCES)
        for number in range(first, 3):
            observer.phase(handle, phase(number, loss=loss + number))
        observer.close(handle)
    log = EventAccumulator(str(tmp_path / "tensorboard"))
    log.Reload()

    assert [(event.step, event.value) for event in log.Scalars("loss")] == [(10, 2.0), (20, 10.0), (30, 11.0)]
    assert [event.value for event in log.Scalars("weights/b")] == [0.75] * 3
