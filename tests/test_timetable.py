"""Timetables: multiples, a dense beginning, and what does not fit together."""

import pytest

from andrea_core import Timetable


def looks(times, phase, steps):
    return [step for step in range(phase, steps + 1, phase) if times.passed(step - phase, step)]


def test_a_dense_beginning_gives_way_to_the_multiples():
    assert looks(Timetable(every=50, dense_until=20, dense_every=5), 1, 120) == [5, 10, 15, 20, 50, 100]
    assert looks(Timetable(dense_until=4), 1, 20) == [1, 2, 3, 4]
    assert looks(Timetable(every=50, dense_until=20, dense_every=5), 12, 120) == [12, 24, 60, 108]


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"dense_every": 2}, "needs dense_until"), ({"every": 5, "dense_until": 9, "dense_every": 5}, "less than every")],
)
def test_what_does_not_fit_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Timetable(**settings)
