"""Rewinds: a phase with a loss spike is undone, and trained again on the text that comes after the spike's."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs
import numpy as np

from andrea_core.phase import Phase, State
from andrea_core.values import Integers

if TYPE_CHECKING:
    from andrea_core.model.trainer import Trainer


def went_back(state: State, phase: Phase, trainer: "Trainer", rows: Callable[[int], str]) -> tuple[State, str] | None:
    """Bring the trainer back to the border of a phase that it has just trained, when there was a spike in it.

    Returns the state from which the phase is to be decided again, in which the rows up to the last spike are passed
    over, and what the record says; None when there was no spike, or no rewind is left, and the phase stays. `rows`
    tells in words the rows of the phase's step of a number. What is owed to a source and what was trained count no row
    that was passed over. A pure function of what the phase showed, so that a resume from any step comes to the same.
    """
    from andrea_core.model.spikes import rewind_text  # with torch, which a simulation never imports

    if not trainer.may_rewind:
        return None
    losses = trainer.collect()
    if losses.skipped is None or losses.median is None or not losses.skipped.any():
        return None
    first, last = (int(np.flatnonzero(losses.skipped)[place]) for place in (0, -1))
    trainer.rewind()
    spike = (state.step + first + 1, losses.loss[first], losses.median[first], rows(first))
    passed = np.bincount(phase.plan.source[: last + 1].ravel(), minlength=len(state.trained))
    text = rewind_text(*spike, back=state.step, until=state.step + last + 1, count=trainer.rewinds)
    sampler = attrs.evolve(state.sampler, position=state.sampler.position + passed)
    return attrs.evolve(state, sampler=sampler), text


def passed_over(state: State, context: int) -> Integers:
    """Return the rows (K,) that rewinds passed over so far: those that were drawn and never counted as trained."""
    return np.asarray(state.sampler.position - state.trained // context)
