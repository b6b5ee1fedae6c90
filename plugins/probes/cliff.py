"""Cliffs: a source's training loss falls or rises to another level, or the batch loss spikes; and what it means."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Integers, Measurement, Sources, Trained, Vector, number, positive
from andrea_plugins.probes.cliff_documents import documents, persists
from andrea_plugins.probes.cliff_series import ARMED, Departure, Rule, Series, expected, push, spiked
from andrea_plugins.probes.cliff_verdict import EARLIER, REPEATED, Evidence, evidence, verdict

if TYPE_CHECKING:
    from andrea_core import ModelView

NUMBERS = ("at", "z", "before", "after", "heldout", "right", "repeated")
COUNTS = ("events", "followed")
GRAVITY = ("memorised_gully", "data_change", "unexplained", "learned")
Judged = tuple[str, Departure, Evidence]


@attrs.frozen
class Cliff:
    """Watch the training loss of each source's rows, and say of a cliff whose it is and of what kind.

    Set `every = 1`: it then looks after every phase, at all rows of it. A source's first row of each step enters a
    series of its own, so that another mix is no cliff. A level shift is `rows` of the last `recent` entries more than
    `limit` robust deviations (1.4826 MAD, at least 0.05 nats) off the median of up to `history` entries of the `span`
    steps before, and outside their range; a `spike` is a step at least half of whose rows are far above their sources'
    medians. A shift is followed for `span` steps. It is forgotten when `recent` entries on end are back, or when of
    four documents or more since not most lie past its half way: a document is no change of the data.

    The verdict: `learned` when held-out text of the source came along; `memorised_gully`, told at once, when the rows
    lie under half the loss of its easiest held-out window, are guessed right token for token (Carlini et al. 2022,
    arXiv 2202.07646) and stand in earlier rows, all without what a row itself has said before; `unexplained` for a
    spike, and for a shift that earlier rows of the source share, or the other sources did; else `data_change`. A fall
    of repeated text is judged again after every phase until it is memorised, or `span` steps are over.

    Of the gravest event since the last look: `verdict`, `source`, `kind` and `windows` (the rows' numbers in the
    source's stream) as texts, "" without one; the step `at`, `z`, losses `before` and `after` in nats a token, and
    the evidence `heldout`, `right`, `repeated`, NaN without one. `events` counts all, `followed` the shifts that wait.
    The status of `verdict` names what happened, so that it stands among the run's events. Cost: nothing without an
    event; with one that is followed, each look `tokens` held-out tokens and up to 40 rows.

    Departures from a full judgement: one held-out level per source and no basin measured; the wall ratio of
    `basin_width` tells more. A change that spares every other document is not told.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    measures: ClassVar[tuple[str, ...]] = (*NUMBERS, *COUNTS)

    history: int = number(default=64, at_least=16, at_most=100_000)
    recent: int = number(default=8, at_least=1, at_most=100_000)
    rows: int = number(default=3, at_least=1, at_most=100_000)
    limit: float = positive(default=4.0)
    spike: float = positive(default=8.0)
    span: int = number(default=256, at_least=16, at_most=100_000)
    tokens: int = number(default=2048, at_least=1)

    def __attrs_post_init__(self) -> None:
        if self.rows > self.recent:
            raise ValueError(f"rows must be at most recent, {self.recent}, got {self.rows}: no shift would be seen")
        if self.span < self.recent + ARMED:
            raise ValueError(
                f"span must be at least recent + {ARMED}, {self.recent + ARMED}, got {self.span}: a level is made of "
                f"{ARMED} entries before the recent ones"
            )

    @property
    def rule(self) -> Rule:
        """What a level shift is."""
        return Rule(self.limit, self.rows, self.recent, self.history, self.span)

    def start(self, sources: Sources) -> Series:
        """Return the empty series of the sources and of the batch, which is the last."""
        return self.rule.empty(len(sources) + 1)

    def measure(
        self, state: Series, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], Series]:
        """Measure the gravest event that was decided at the end of the phase just finished."""
        trained = view.trained
        if trained is None:
            return _told(None, 0, 0, view), state
        after = state.copy()
        spikes = [event for event in self.departures(after, trained) if event.kind == "spike"]
        judged = [(verdict(event, Evidence()), event, Evidence()) for event in spikes]
        opened = np.flatnonzero(after.since >= 0).tolist()
        judged += [one for index in opened if (one := self._judged(after, index, view, trained))]
        gravest = min(judged, key=lambda one: (GRAVITY.index(one[0]), -abs(one[1].z)), default=None)
        return _told(gravest, len(judged), int((after.since >= 0).sum()), view), after

    def departures(self, memory: Series, trained: Trained) -> list[Departure]:
        """Enter a phase's rows into the memory, in place, and return what departed."""
        found: list[Departure | None] = []
        batch, rule = len(memory.loss) - 1, self.rule
        for offset, losses in enumerate(trained.loss):
            step, sources = trained.start + offset + 1, trained.source[offset]
            off = np.array([loss - expected(memory, one, rule) for loss, one in zip(losses, sources, strict=True)])
            for row in np.sort(np.unique(sources, return_index=True)[1]):
                source, position = int(sources[row]), int(trained.position[offset, row])
                found.append(rule.enter(memory, source, float(losses[row]), step, position))
            if np.isfinite(off).any():
                push(memory, batch, _lower_median(off), step, -1)
                found.append(spiked(memory, batch, self.spike, rule))
        return [event for event in found if event is not None]

    def _judged(self, memory: Series, index: int, view: "ModelView", trained: Trained) -> Judged | None:
        """Return the verdict on the level shift that a series is followed for, None while it cannot be told.

        A memorised gully is told at once. Anything else must last over several documents; a fall of text trained
        on again and again is judged anew after every phase, for it may yet be memorised. What is told is the
        series' level from now on; what has passed, or cannot be told in time, is forgotten.
        """
        rule = self.rule
        event, late = rule.followed(memory, index), rule.late(memory, index, trained.start + len(trained.loss))

        def told(known: Evidence) -> Judged:
            rule.settle(memory, index)
            return verdict(event, known), event, known

        known = self._evidence(memory, event, view, trained) if event.kind == "fall" else None
        if known and verdict(event, known) == "memorised_gully":
            return told(known)
        lasting = persists(event, *_since(memory, event, view, trained))
        if not lasting:
            if late or lasting is False:
                memory.since[index] = -1
            return None
        known = known or self._evidence(memory, event, view, trained)
        pending = event.kind == "fall" and known.repeated >= REPEATED and verdict(event, known) != "learned"
        return None if pending and not late else told(known)

    def _evidence(self, memory: Series, event: Departure, view: "ModelView", trained: Trained) -> Evidence:
        before, shared = self.rule.before(memory, event.series, EARLIER), float(memory.common[event.series])
        return evidence(view, trained, event, before, shared, self.tokens)


def _since(memory: Series, event: Departure, view: "ModelView", trained: Trained) -> tuple[Vector, Integers]:
    """Return the losses of the entries from a shift's first on, and the numbers of their documents."""
    entries = np.flatnonzero(memory.step[event.series] >= event.step)
    positions = memory.position[event.series, entries]
    numbers = documents(trained, event.series, positions, view.tokenizer.separator)
    return memory.loss[event.series, entries], numbers


def _lower_median(values: Vector) -> float:
    """Return the largest number that at least half of the finite values reach."""
    known = np.sort(values[np.isfinite(values)])
    return float(known[len(known) // 2 - (len(known) % 2 == 0)])


def _told(gravest: Judged | None, events: int, followed: int, view: "ModelView") -> dict[str, Measurement]:
    counts = {name: Measurement(float(count)) for name, count in zip(COUNTS, (events, followed), strict=True)}
    if gravest is None:
        texts = {name: Measurement("") for name in ("verdict", "source", "kind", "windows")}
        return {**texts, **{name: Measurement(math.nan) for name in NUMBERS}, **counts}
    judgement, event, known = gravest
    source = view.sources[event.series] if event.series < len(view.sources) else ""
    windows = ", ".join(map(str, event.positions))
    of = f" of {source}, rows {windows}" if source else ""
    what = f"{judgement}: {event.kind}{of}, from {event.before:.2f} to {event.after:.2f} nats at step {event.step}"
    shown = (float(event.step), event.z, event.before, event.after, known.heldout, known.right, known.repeated)
    return {
        "verdict": Measurement(judgement, what),
        "source": Measurement(source),
        "kind": Measurement(event.kind),
        "windows": Measurement(windows),
        **{name: Measurement(value) for name, value in zip(NUMBERS, shown, strict=True)},
        **counts,
    }
