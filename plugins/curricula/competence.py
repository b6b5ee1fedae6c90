"""Competence: sources open one by one, easiest first, as a competence grows with the steps (Platanios et al. 2019)."""

import math
from collections.abc import Mapping
from itertools import groupby

import attrs

from andrea_core import Findings, Outcome, ScenarioError, Sources, Stage, number, numbers_by_source, one_of, span

OPEN_END = 2**63 - 1
"""The border of a stage that lasts to the end of the run, whatever its length."""


@attrs.frozen
class Competence:
    """Open the sources whose rank of difficulty is within the competence c(t); each opening begins a stage of its own.

    Source: Platanios, Stretcu, Neubig, Poczos, Mitchell 2019 (1903.09848), equations 1 and 2: with T = `steps` and
    c0 = `initial`, c(t) = min(1, t (1 - c0) / T + c0) for `pacing = "linear"` and
    c(t) = min(1, sqrt(t (1 - c0^2) / T + c0^2)) for "root", the paper's choice. Step t may draw what has
    F(difficulty) <= c(t), F the distribution function.
    `difficulty` gives every source a number, small is easy; equal numbers open together. Stages are called after how
    many sources are open ("3 of 16").
    Departures: the paper ranks single examples, here whole sources are ranked, F is the share of sources that are no
    harder; the easiest are open from the start, however small c0 is; scaling that leaves two openings at one step
    makes them one.
    """

    difficulty: Mapping[str, float] = numbers_by_source()
    steps: int = span(at_least=1)
    pacing: str = one_of("root", "linear", default="root")
    initial: float = number(default=0.01, above=0, at_most=1)

    def start(self, sources: Sources) -> tuple[str, ...]:
        """Return the names of all sources; raises ScenarioError unless `difficulty` has each of them and no other."""
        missing = [name for name in sources.names if name not in self.difficulty]
        unknown = [name for name in self.difficulty if name not in sources.names]
        if missing or unknown:
            first = ", ".join((missing or unknown)[:20]) + (", ..." if len(missing or unknown) > 20 else "")
            what = f"no number for {first}" if missing else f"{first}: no such source"
            raise ScenarioError(f"difficulty: {what}; give every source of the experiment a number, small for easy")
        return sources.names

    def stage(self, state: tuple[str, ...], step: int) -> Stage:
        """Return the stage with start <= step < until."""
        counts = self._counts(state)
        index = max(i for i, (start, _) in enumerate(counts) if start <= step)
        start, count = counts[index]
        until = counts[index + 1][0] if index + 1 < len(counts) else OPEN_END
        opened = None if count == len(state) else self._easiest(state, count)
        return Stage(f"{count} of {len(state)}", start, until, opened)

    def update(self, state: tuple[str, ...], outcome: Outcome, findings: Findings) -> tuple[str, ...]:
        """Return the state as it is: the steps alone decide."""
        return state

    def openings(self, names: tuple[str, ...]) -> list[tuple[int, tuple[str, ...]]]:
        """Return (first step, open sources) of each stage, in order; the sources in the experiment's order."""
        return [(start, self._easiest(names, count)) for start, count in self._counts(names)]

    def _counts(self, names: tuple[str, ...]) -> list[tuple[int, int]]:
        """Return (first step, number of open sources) of each stage, in order."""
        ranked = sorted(self.difficulty[name] for name in names)
        at: dict[int, int] = {}
        count = 0
        for _, equal in groupby(ranked):
            count += len(list(equal))
            at[self.opening(count / len(names)) if at else 0] = count
        return list(at.items())

    def _easiest(self, names: tuple[str, ...], count: int) -> tuple[str, ...]:
        opened = set(sorted(names, key=self.difficulty.__getitem__)[:count])
        return tuple(name for name in names if name in opened)

    def opening(self, share: float) -> int:
        """Return the first step whose competence reaches a share of the sources."""
        power = 2 if self.pacing == "root" else 1
        if self.initial >= share:
            return 0
        at = self.steps * (share**power - self.initial**power) / (1 - self.initial**power)
        return max(0, math.ceil(at - 1e-9 * self.steps))
