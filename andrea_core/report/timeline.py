"""A run's time axis: its stages, its last step, and honest thinning of long records before they are drawn."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from andrea_core.runs.store import Run

Floats = npt.NDArray[np.floating[Any]]
Indices = npt.NDArray[np.int64]


@attrs.frozen
class Span:
    """A stage's stretch of steps, [start, until)."""

    name: str
    start: int
    until: int


def last_step(run: Run) -> int:
    """Return the number of steps that the record knows of."""
    ends = [run.steps.rows, *(int(end) for end in phase_ends(run)[-1:])]
    return max(ends)


def phase_ends(run: Run) -> Indices:
    """(phases,) the number of steps finished at each phase's end."""
    if not run.phases.has("start", "steps"):
        return np.zeros(0, np.int64)
    return np.asarray(run.phases["start"] + run.phases["steps"], np.int64)


def planned_stages(run: Run) -> list[Span]:
    """Return the stages that happened, the last to where the plan ends it, then those that the plan still has.

    A curriculum that reacts moves borders: what happened counts. The plan holds the latest end of each of its stages.
    """
    listed = run.attributes.get("stages")
    planned = [_span(entry) for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
    seen = seen_stages(run)
    if not seen or not planned:
        return seen or planned
    now = seen[-1]
    place = next((i for i, span in enumerate(planned) if span.name == now.name), len(planned))
    rest = planned[place : place + 1]
    until = max([now.until, *(span.until for span in rest)])
    following = (attrs.evolve(span, start=max(span.start, until)) for span in planned[place + 1 :])
    return [*seen[:-1], attrs.evolve(now, until=until), *(span for span in following if span.start < span.until)]


def seen_stages(run: Run) -> list[Span]:
    """Return the stretches of phases under one stage, in order; a stage that comes again is a new stretch."""
    names, ends = stage_names(run), phase_ends(run)
    if not names or len(ends) != len(names):
        return []
    changes = [i for i in range(1, len(names)) if names[i] != names[i - 1]]
    starts = [0, *changes]
    stops = [*changes, len(names)]
    first = run.phases["start"]
    return [Span(names[i], int(first[i]), int(ends[j - 1])) for i, j in zip(starts, stops, strict=True)]


def drawn_stages(run: Run) -> list[Span]:
    """Return the planned stages as far as the record reaches: what a figure's axis shows."""
    end = last_step(run)
    return [Span(s.name, s.start, min(s.until, end)) for s in planned_stages(run) if s.start < end]


def stage_names(run: Run) -> list[str]:
    """Return each phase's stage, by name."""
    return run.phases.decoded("stage") if "stage" in run.phases else []


def policy_names(run: Run) -> list[str]:
    """Return the policy that acted in each phase, by name; "policy" where that was not recorded."""
    return run.phases.decoded("policy") if "policy" in run.phases else ["policy"] * run.phases.rows


def every(count: int, most: int) -> Indices:
    """Return at most `most` indices below `count`, evenly spread, first and last among them."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, most)).round().astype(np.int64))


def binned(values: Floats, lengths: Floats, most: int) -> tuple[Floats, Indices]:
    """Average rows over at most `most` bins of neighbours, weighted by `lengths`; also return each bin's first row."""
    edges = np.unique(np.linspace(0, len(values), min(len(values), most) + 1).round().astype(np.int64))[:-1]
    if not len(values):
        return values, edges
    weighted = np.add.reduceat(values * lengths[:, None], edges, axis=0)
    return weighted / np.add.reduceat(lengths, edges)[:, None], edges


def envelope(values: Floats, most: int) -> Indices:
    """Return the indices of the extremes in each of `most / 2` stretches: a thinned curve keeps its spikes."""
    if len(values) <= most:
        return np.arange(len(values))
    edges = np.linspace(0, len(values), most // 2 + 1).astype(int)
    filled = np.nan_to_num(values, nan=float(np.nanmean(values)) if np.isfinite(values).any() else 0.0)
    stretches = [(a, filled[a:b]) for a, b in pairwise(edges)]
    return np.unique([a + int(pick(part)) for a, part in stretches for pick in (np.argmin, np.argmax)])


def running_mean(values: Floats, window: int) -> Floats:
    """Return the mean of the last `window` finite values up to each one; shorter at the start."""
    finite = np.isfinite(values)
    sums = np.cumsum(np.where(finite, values, 0.0), dtype=np.float64)
    counts = np.cumsum(finite)
    for total in (sums, counts):
        total[window:] = total[window:] - total[:-window].copy()
    return np.asarray(sums / np.maximum(counts, 1))


def _span(entry: Mapping[str, Any]) -> Span:
    return Span(str(entry.get("name", "stage")), int(entry.get("start", 0)), int(entry.get("until", 0)))
