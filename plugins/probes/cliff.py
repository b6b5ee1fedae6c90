"""Cliffs: a source's training loss falls or rises to another level, or the batch loss spikes; and what it means."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Measurement, Sources, Trained, Vector, number, positive
from andrea_plugins.probes.cliff_series import Departure, Series, empty, expected, push, shifted, spiked
from andrea_plugins.probes.cliff_verdict import Evidence, evidence, verdict

if TYPE_CHECKING:
    from andrea_core import ModelView

GRAVITY = ("memorised_gully", "data_change", "unexplained", "learned")
Judged = tuple[str, Departure, Evidence]


@attrs.frozen
class Cliff:
    """Watch the training loss of each source's rows, and say of a cliff whose it is and of what kind.

    Set `every = 1`: it then looks after every phase, at all rows of it. Each source's rows are a series of their own,
    so that another mix is no cliff. A level shift is `rows` of the last `recent` rows more than `limit` robust
    deviations (1.4826 MAD) off the median of up to `history` rows before them and outside their range; a `spike` is a
    step at least half of whose rows are far above their sources' medians. The verdict: `learned` when held-out text of
    the source came along; `memorised_gully` when the rows lie under half the loss of its easiest held-out window, are
    guessed right token for token (Carlini et al. 2022, arXiv 2202.07646) and stand in earlier rows; else `data_change`;
    `unexplained` for a spike, and for a rise that held-out text shares.

    Of the gravest event since the last look: `verdict`, `source`, `kind` and `windows` (the rows' numbers in the
    source's stream) as texts, "" without one; the step `at`, `z`, losses `before` and `after` in nats a token, and
    the evidence `heldout`, `right`, `repeated`, NaN without one. `events` counts all. The status of `verdict` names
    what happened, so that it stands among the run's events. Cost: nothing without an event; with one, `tokens`
    held-out tokens and a few rows.

    Departures from a full judgement: one held-out level per source and no basin measured; the wall ratio of
    `basin_width` tells more.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    history: int = number(default=64, at_least=16)
    recent: int = number(default=8, at_least=1)
    rows: int = number(default=3, at_least=1)
    limit: float = positive(default=4.0)
    spike: float = positive(default=8.0)
    tokens: int = number(default=2048, at_least=1)

    def start(self, sources: Sources) -> Series:
        """Return the empty series of the sources and of the batch, which is the last."""
        return empty(len(sources) + 1, self.history + self.recent)

    def measure(
        self, state: Series, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], Series]:
        """Measure the gravest event of the phase just finished."""
        trained = view.trained
        if trained is None:
            return _told(None, 0, view), state
        after = Series(state.loss.copy(), state.step.copy(), state.position.copy())
        judged = [self._judged(view, trained, event) for event in self.departures(after, trained)]
        gravest = min(judged, key=lambda one: (GRAVITY.index(one[0]), -abs(one[1].z)), default=None)
        return _told(gravest, len(judged), view), after

    def departures(self, memory: Series, trained: Trained) -> list[Departure]:
        """Enter a phase's rows into the memory, in place, and return what departed."""
        found: list[Departure | None] = []
        batch = len(memory.loss) - 1
        for offset, losses in enumerate(trained.loss):
            step, sources = trained.start + offset + 1, trained.source[offset].tolist()
            off = np.array([loss - expected(memory, one) for loss, one in zip(losses, sources, strict=True)])
            for loss, source, position in zip(losses, sources, trained.position[offset].tolist(), strict=True):
                push(memory, source, float(loss), step, position)
                found.append(shifted(memory, source, self.limit, self.rows, self.recent))
            if np.isfinite(off).any():
                push(memory, batch, _lower_median(off), step, -1)
                found.append(spiked(memory, batch, self.spike, self.recent))
        return [event for event in found if event is not None]

    def _judged(self, view: "ModelView", trained: Trained, event: Departure) -> Judged:
        known = evidence(view, trained, event, self.tokens) if event.positions else Evidence()
        return verdict(event, known), event, known


def _lower_median(values: Vector) -> float:
    """Return the largest number that at least half of the finite values reach."""
    known = np.sort(values[np.isfinite(values)])
    return float(known[len(known) // 2 - (len(known) % 2 == 0)])


def _told(gravest: Judged | None, events: int, view: "ModelView") -> dict[str, Measurement]:
    if gravest is None:
        texts = {name: Measurement("") for name in ("verdict", "source", "kind", "windows")}
        names = ("at", "z", "before", "after", "heldout", "right", "repeated")
        return {**texts, **{name: Measurement(math.nan) for name in names}, "events": Measurement(0.0)}
    judgement, event, known = gravest
    source = view.sources[event.series] if event.series < len(view.sources) else ""
    windows = ", ".join(map(str, event.positions))
    of = f" of {source}, rows {windows}" if source else ""
    what = f"{judgement}: {event.kind}{of}, from {event.before:.2f} to {event.after:.2f} nats at step {event.step}"
    numbers = {"z": event.z, "before": event.before, "after": event.after}
    shown = {"heldout": known.heldout, "right": known.right, "repeated": known.repeated}
    return {
        "verdict": Measurement(judgement, what),
        "source": Measurement(source),
        "kind": Measurement(event.kind),
        "windows": Measurement(windows),
        "at": Measurement(float(event.step)),
        **{name: Measurement(value) for name, value in (numbers | shown).items()},
        "events": Measurement(float(events)),
    }
