"""Staged: a list of stages, each with a border, its sources and its constraints (warm-up, firehose, polish)."""

from itertools import pairwise
from typing import Any

import attrs

from andrea_core import (
    ConstraintSet,
    Findings,
    Outcome,
    ScenarioError,
    Sources,
    Stage,
    StageOptimizer,
    check_sources,
    source_names,
    span,
)

OPEN_END = 2**63 - 1
"""The border of a stage that lasts to the end of the run, whatever its length."""


def _has_sources(spec: "StageSpec", _attribute: "attrs.Attribute[Any]", sources: tuple[str, ...] | None) -> None:
    if sources is None:
        return
    if not sources:
        raise ValueError(f"stage {spec.name!r} has no sources; name at least one, or leave `sources` out to have all")
    for name in sources:
        if sources.count(name) > 1:
            raise ValueError(f"stage {spec.name!r} names source {name!r} twice")


@attrs.frozen
class StageSpec:
    """One stage of the list; it ends before step `until`, and the last, if it leaves that out, with the run.

    `sources` are the ones that may receive mass, all if left out; `constraints` and what `optimizer` changes (`lr`,
    `weight_decay`, `clip`, a `schedule` of its own) hold in this stage only.
    """

    name: str = attrs.field()
    until: int | None = span(default=None, at_least=1)
    sources: tuple[str, ...] | None = source_names(default=None, validator=_has_sources)
    constraints: tuple[ConstraintSet, ...] = ()
    optimizer: StageOptimizer | None = None


def _in_order(_staged: "Staged", _attribute: "attrs.Attribute[Any]", stages: tuple[StageSpec, ...]) -> None:
    if not stages:
        raise ValueError("needs at least one stage")
    for spec in stages[:-1]:
        if spec.until is None:
            raise ValueError(f"stage {spec.name!r} needs `until`: only the last stage may leave it out")
    for first, second in pairwise(stages):
        if second.until is not None and first.until is not None and second.until <= first.until:
            raise ValueError(
                f"stage {second.name!r} ends at step {second.until}, which is not after step {first.until}, "
                f"where stage {first.name!r} ends; borders must grow"
            )


def _distinct_names(_staged: "Staged", _attribute: "attrs.Attribute[Any]", stages: tuple[StageSpec, ...]) -> None:
    names = [spec.name for spec in stages]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two stages are called {name!r}; give each a name of its own")


@attrs.frozen
class Staged:
    """Walk through `stages` in order, by step alone: from one border to the next the region keeps its shape.

    Source: the seed lesson on restricting dimensions early (7 sources for 20,000 steps, then all 16, then a smaller
    polytope). What phases and probes show changes nothing here; a reactive curriculum is another class.
    """

    stages: tuple[StageSpec, ...] = attrs.field(validator=[_in_order, _distinct_names])

    def start(self, sources: Sources) -> None:
        """Return None; raises ScenarioError when a stage names a source that the experiment does not have."""
        for spec in self.stages:
            check_sources(spec.sources or (), sources, f"stage {spec.name!r}, sources")

    def stage(self, state: None, step: int) -> Stage:
        """Return the stage with start <= step < until; raises ScenarioError for a step after the last border."""
        start = 0
        for spec in self.stages:
            until = OPEN_END if spec.until is None else spec.until
            if step < until:
                return Stage(spec.name, start, until, spec.sources, spec.constraints, optimizer=spec.optimizer)
            start = until
        raise ScenarioError(
            f"the last stage, {self.stages[-1].name!r}, ends at step {start}, but step {step} is asked for; "
            "leave its `until` out, so that it lasts to the end of the run"
        )

    def update(self, state: None, outcome: Outcome, findings: Findings) -> None:
        """Return None: the steps alone decide."""
