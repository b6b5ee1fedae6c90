"""The cliff probe: planted spikes and level shifts, false alarms, and the verdict on planted evidence."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from andrea_core import Sources, Trained
from andrea_plugins.probes.cliff import Cliff
from andrea_plugins.probes.cliff_verdict import Evidence, repeated, unechoed, verdict

SOURCES = Sources(("docs", "chat"), np.array([1000, 1000]))


def trained(losses, start=0, source=None, row=None):
    """Return a phase of one row of each source a step, or of the given sources."""
    losses = np.asarray(losses, float)
    source = np.tile([0, 1], (len(losses), 1)) if source is None else np.asarray(source)
    position = start + np.arange(len(losses))[:, None].repeat(losses.shape[1], 1)
    return Trained(start, losses, source, position, row or (lambda _source, _position: np.arange(33)))


def noise(steps, seed=0, width=2):
    return 2.5 + 0.2 * np.random.default_rng(seed).standard_normal((steps, width))


def found(losses, **changed):
    probe = Cliff(**changed)
    return probe.departures(probe.start(SOURCES), trained(losses))


@pytest.mark.parametrize(("to", "kind"), [(0.3, "fall"), (6.0, "rise")])
def test_a_planted_level_shift_is_found_once_at_its_step_in_its_source(to, kind):
    losses = noise(400)
    losses[200:, 0] += to - 2.5
    (event,) = found(losses)

    assert (event.series, event.kind, event.step) == (0, kind, 201)
    assert event.after == pytest.approx(to, abs=0.4)
    assert event.positions == (200, 201, 202)


def test_a_document_in_every_other_row_is_a_fall_too_and_a_change_of_the_mix_is_none():
    losses = noise(300)
    losses[150::2, 1] = 0.1
    assert [(event.series, event.kind, event.step) for event in found(losses)] == [(1, "fall", 151)]

    apart = noise(300)
    apart[:, 1] -= 2
    source = np.tile([0, 1], (300, 1))
    source[150:] = 1
    apart[150:, 0] -= 2
    probe = Cliff()
    assert not probe.departures(probe.start(SOURCES), trained(apart, source=source))


def test_a_planted_spike_is_found_at_its_step_and_is_no_level_shift():
    losses = noise(300)
    losses[180] += 3
    (event,) = found(losses)

    assert (event.kind, event.step) == ("spike", 181)
    assert verdict(event, Evidence()) == "unexplained"


def test_false_alarms_are_at_most_one_in_ten_thousand_rows_and_a_slow_decline_is_silent():
    steps, runs = 2500, 4
    false = sum(len(found(noise(steps, seed))) for seed in range(runs))
    assert false <= steps * runs * 2 / 10_000
    assert not found(noise(2000) + np.linspace(1.5, 0, 2000)[:, None])


def test_the_phases_borders_change_nothing():
    losses, probe = noise(300), Cliff()
    losses[137:, 0] = 0.2
    memory, events = probe.start(SOURCES), []
    for start in range(0, 300, 25):
        events += probe.departures(memory, trained(losses[start : start + 25], start))
    assert [(one.step, one.positions) for one in events] == [(one.step, one.positions) for one in found(losses)]


GULLY = {"now": 0.1, "heldout": 2.4, "lowest": 1.8, "right": 0.98, "repeated": 1.0}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "memorised_gully"),
        ({"heldout": 0.4, "lowest": 0.2}, "learned"),
        ({"repeated": 0.0}, "data_change"),
        ({"right": 0.5}, "data_change"),
        ({"now": 1.2}, "data_change"),
        ({"heldout": math.nan, "lowest": math.nan}, "memorised_gully"),
    ],
)
def test_each_piece_of_evidence_decides(changed, expected):
    losses = noise(200)
    losses[100:, 0] = 0.1
    assert verdict(found(losses)[0], Evidence(**GULLY | changed)) == expected


def test_a_rise_is_a_change_of_data_unless_held_out_text_rises_too():
    losses = noise(200)
    losses[100:, 0] = 6.0
    rise = found(losses)[0]
    assert verdict(rise, Evidence(heldout=2.5)) == "data_change"
    assert verdict(rise, Evidence(heldout=5.5)) == "unexplained"


def test_repeated_rows_are_those_with_text_of_earlier_rows_and_monotony_is_not_memory():
    rng = np.random.default_rng(1)
    fresh = rng.integers(0, 200, (40, 65))
    fresh[30] = fresh[5]
    fresh[20:22] = 7

    def share(position):
        return repeated(trained(noise(1), row=lambda _source, place: fresh[place]), 0, (position,))

    assert [share(position) for position in (30, 31, 21)] == [1, 0, 0]


def test_a_look_names_source_step_and_windows_and_leaves_the_state_it_was_given_alone():
    losses = noise(200)
    losses[100:, 0] = 0.1
    page = np.random.default_rng(0).integers(0, 200, 33)
    view = SimpleNamespace(
        sources=SOURCES.names,
        trained=trained(losses, row=lambda _source, _position: page),
        heldout=lambda _source, _tokens: np.zeros((4, 33), int),
        token_losses=lambda windows: np.full((len(windows), 32), 0.1 if windows.any() else 2.4),
        guesses=lambda windows: windows[:, 1:],
    )
    probe = Cliff()
    state = probe.start(SOURCES)
    told, after = probe.measure(state, view, np.random.default_rng(0))

    assert [told[name].value for name in ("verdict", "source", "kind", "windows", "at", "events")] == [
        *("memorised_gully", "docs", "fall", "100, 101, 102", 101.0, 1.0)
    ]
    assert told["verdict"].status.startswith("memorised_gully: fall of docs, rows 100, 101, 102, from 2.")
    assert np.isnan(state.loss).all()
    assert np.isfinite(after.loss[0]).any()
    view.trained = None
    told, _ = probe.measure(after, view, np.random.default_rng(0))
    assert (told["verdict"].value, told["events"].value, told["verdict"].status) == ("", 0.0, "ok")


def test_a_source_with_many_rows_a_step_speaks_once_a_step():
    losses = np.repeat(noise(300), 4, 1)
    losses[200:, :4] = 0.3
    source = np.tile([0, 0, 0, 0, 1, 1, 1, 1], (300, 1))
    place = np.arange(1200).reshape(300, 4)
    probe = Cliff()
    phase = Trained(0, losses, source, np.concatenate([place, place], 1), lambda _source, _position: np.arange(33))
    (event,) = probe.departures(probe.start(SOURCES), phase)

    assert (event.step, event.positions) == (201, (800, 804, 808))


@pytest.mark.parametrize("loss", [np.nan, np.inf])
def test_losses_that_are_no_numbers_are_no_entries(loss):
    losses = noise(300)
    losses[120:150, 0] = loss
    losses[200:, 0] = 0.3

    assert [(event.series, event.kind, event.step) for event in found(losses)] == [(0, "fall", 201)]


def test_a_level_that_was_known_long_ago_is_no_level():
    at = np.concatenate([np.arange(30), np.arange(600, 700)])
    losses = noise(700)
    losses[600:, 0] -= 1.5
    source = np.ones((700, 2), int)
    source[at, 0] = 0

    assert not Cliff().departures(Cliff().start(SOURCES), trained(losses, source=source))
    assert Cliff(span=700).departures(Cliff(span=700).start(SOURCES), trained(losses, source=source))


def test_tokens_that_a_row_has_said_before_are_left_out():
    row = np.tile(np.arange(20), 3)[:50]
    fresh = unechoed(row)

    assert fresh[: 20 + 6].all()
    assert not fresh[20 + 6 :].any()
    assert unechoed(np.arange(50)).all()


@pytest.mark.parametrize(("earlier", "expected"), [(0.5, "unexplained"), (2.5, "data_change")])
def test_a_fall_that_earlier_rows_share_is_the_models_and_not_the_datas(earlier, expected):
    losses = noise(200)
    losses[100:, 0] = 0.1
    assert verdict(found(losses)[0], Evidence(heldout=2.4, lowest=1.8, earlier=earlier)) == expected

    losses[100:, 0] = 6.0
    rise = Evidence(heldout=2.4, earlier=8 - 2 * earlier)
    assert verdict(found(losses)[0], rise) == expected


@pytest.mark.parametrize("by", [-1.5, 1.5])
def test_what_other_sources_do_while_one_departs_is_measured_and_a_shared_shift_is_the_models(by):
    sources = Sources(("docs", "chat", "irc"), np.array([1, 1, 1]))
    losses, probe = noise(200, width=3), Cliff()
    losses[100:] += by
    source = np.tile([0, 1, 2], (200, 1))
    memory = probe.start(sources)
    events = probe.departures(memory, trained(losses, source=source))
    own = next(event for event in events if event.series == 0)

    assert memory.common[0] == pytest.approx(by, abs=0.3)
    assert verdict(own, Evidence(heldout=2.5, common=float(memory.common[0]))) == "unexplained"

    losses[100:, 1:] -= by
    memory = probe.start(sources)
    probe.departures(memory, trained(losses, source=source))
    assert memory.common[0] == pytest.approx(0, abs=0.3)
    assert verdict(own, Evidence(heldout=2.5, common=float(memory.common[0]))) == "data_change"


LENGTH = 10
"""Rows of each document of the stream below."""


def looks(losses, now, row, width=25, **changed):
    """Return what a look after every phase of `width` steps told that was not empty, with the step it was told after.

    `losses` (steps,) are the only source's; `now` gives the model's loss on rows at a step, `row` a row's tokens.
    """
    probe, told = Cliff(spike=1e9, **changed), []  # of one row a step any odd document is a spike
    state = probe.start(Sources(("docs",), np.array([1])))
    for start in range(0, len(losses), width):
        part = np.asarray(losses[start : start + width])[:, None]
        step = start + len(part)
        view = SimpleNamespace(
            sources=("docs",),
            tokenizer=SimpleNamespace(separator=256),
            trained=trained(part, start, np.zeros_like(part, int), row),
            heldout=lambda _source, _tokens: np.full((2, 65), 255),
            token_losses=lambda rows, step=step: np.array([np.full(64, now(step, one)) for one in rows]),
            guesses=lambda rows, step=step: np.where(now(step, rows[0]) < 0.5, rows[:, 1:], -1),
        )
        found, state = probe.measure(state, view, np.random.default_rng(0))
        if found["verdict"].value:
            told.append((found["verdict"].value, found["kind"].value, int(found["at"].value), step))
    return told


def fresh(_source, position):
    """Return a row of a stream of documents of ten rows, no text of which comes again."""
    tokens = np.random.default_rng(position).integers(0, 200, 65)
    tokens[0] = 256 if position % LENGTH == 0 else tokens[0]
    return tokens


def level(_step, row):
    return 2.5


def test_one_odd_document_is_a_document_and_several_on_end_are_a_change_of_the_data():
    losses = noise(400)[:, 0]
    for odd in (0.7, 4.5):
        passing = losses.copy()
        passing[200:210] = odd
        assert looks(passing, level, fresh) == []

    changed = losses.copy()
    changed[200:] += 2
    told = looks(changed, level, fresh)
    assert [one[:3] for one in told] == [("data_change", "rise", 201)]
    assert told[0][3] - 200 in range(3 * LENGTH, 5 * LENGTH + 25)


def memorised(step):
    """Return what a model says of a page that it knows by heart from a step on, and of other text."""
    return lambda at, row: 0.1 if at >= step and row[1] < 200 else 2.5


def page(_source, position):
    """Return one and the same page, a document of its own, from row 200 on."""
    return fresh(0, LENGTH) if position >= 200 else fresh(0, position)


@pytest.mark.parametrize(("known", "told_after"), [(0, 225), (290, 300)])
def test_a_text_that_is_memorised_over_several_phases_is_judged_again_and_its_step_stays(known, told_after):
    losses = noise(600)[:, 0]
    losses[200:] = 0.6

    assert looks(losses, memorised(known), page) == [("memorised_gully", "fall", 201, told_after)]


def test_repeated_text_that_is_never_known_by_heart_is_a_change_of_the_data_in_the_end():
    losses = noise(600)[:, 0]
    losses[200:] = 1.2
    ((name, _, at, step),) = looks(losses, memorised(10_000), page, span=128)

    assert (name, at) == ("data_change", 201)
    assert 200 + 128 <= step <= 200 + 128 + 50


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rows": 9}, "rows must be at most recent, 8, got 9"),
        ({"span": 23}, r"span must be at least recent \+ 16, 24, got 23"),
        ({"recent": 250}, "span must be at least"),
    ],
)
def test_settings_under_which_nothing_would_ever_be_seen_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Cliff(**settings)
