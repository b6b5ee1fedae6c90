"""Guards the two invariants: every plugin's answer is checked, landed on the region, or blamed on its plugin."""

import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np

from andrea_core.contracts import Adjust
from andrea_core.errors import AndreaError, InfeasibleRegion, PluginError, ScenarioError
from andrea_core.plugins import SINGULAR, Catalogue
from andrea_core.spelling import said
from andrea_core.values import Moment, Proposal, Vector

NEAR = 1e-9
"""A point this close to the region, in every bound and in its sum, is only fixed up, not projected."""


@attrs.frozen
class Blame:
    """Whose answer is being taken: the kind and name of a plugin, where it came from, and when."""

    kind: str
    name: str
    origin: str
    phase: int
    stage: str

    def fault(self, what: str) -> PluginError:
        """Return the error that names the plugin, the phase and the fault."""
        where = f"in phase {self.phase} of stage {self.stage!r}" if self.stage else "before the first phase"
        return PluginError(f"the {self.kind} {self.name!r} ({self.origin}) {what}, {where}")


@attrs.frozen(eq=False)
class Landed:
    """A proposal after the core: `requested` (K,) normalised, `weights` (K,) on the region."""

    requested: Vector
    weights: Vector
    proposal: Proposal


def accusation(catalogue: Catalogue, kind: str, component: object, phase: int, stage: str) -> Blame:
    """Return whom to name when a component of a scenario is at fault."""
    name = catalogue.name_of(kind, component)
    return Blame(SINGULAR[kind], name, catalogue.origin_of(kind, name), phase, stage)


@contextmanager
def blaming(blame: Blame) -> Iterator[None]:
    """Turn whatever a plugin raises into a PluginError that names it and the line; the project's own errors pass.

    A ScenarioError before the first phase is no fault of the plugin: its settings do not go with the sources.
    """
    try:
        yield
    except InfeasibleRegion:
        raise
    except ScenarioError as error:
        refused = f"the settings of the {blame.kind} {blame.name!r} do not fit: {error}"
        error.args = (str(blame.fault(f"failed: {error}")) if blame.stage else refused,)
        raise
    except AndreaError as error:
        error.args = (str(blame.fault(f"failed: {error}")),)
        raise
    except (Exception, SystemExit, GeneratorExit) as error:  # a plugin must not end the process as if all were well
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise blame.fault(
            f"raised {type(error).__name__}: {said(error)} (line {last.lineno} of {last.filename})"
        ) from error


def land(
    answer: Vector | Proposal, moment: Moment, adjusts: Sequence[tuple[Blame, Adjust]], landing: str, blame: Blame
) -> Landed:
    """Return a policy's answer checked, adjusted and landed on the moment's region.

    Raises PluginError, naming plugin, phase, source and amount, for a wrong shape, an entry that is not finite or
    negative, a zero total, or any mass on an excluded source: those are faults that no projection may hide.
    """
    proposal = answer if isinstance(answer, Proposal) else Proposal(answer)
    requested = normalised(proposal.target, moment, blame)
    adjusted = requested
    for who, adjust in adjusts:
        with blaming(who):
            adjusted = adjust.adjust(adjusted.copy(), moment)
        adjusted = normalised(adjusted, moment, who)
    weights = landed(adjusted, moment, landing)
    if proposal.steps is not None:
        whole_steps(proposal.steps, blame)
    return Landed(requested, weights, attrs.evolve(proposal, notes=_notes(proposal.notes, len(weights), blame)))


def whole_steps(steps: Any, blame: Blame) -> int:
    """Return a phase length as an int, or raise PluginError when it is no whole number of at least 1."""
    if isinstance(steps, bool | np.bool_) or not isinstance(steps, int | np.integer) or steps < 1:
        raise blame.fault(f"asked for a phase of {steps!r} steps, which is no whole number above 0")
    return int(steps)


def names_of_record(found: Any, what: str, blame: Blame) -> None:
    """Raise PluginError unless something is a table whose keys may name arrays of the record."""
    if not isinstance(found, Mapping):
        raise blame.fault(f"returned {type(found).__name__} as {what}, which is no table")
    for key in found:
        if not isinstance(key, str) or not re.fullmatch(r"[A-Za-z0-9_-]+", key):
            raise blame.fault(f"named one of its {what} {key!r}; a name is made of letters, digits, _ and -")


def numbers(values: Any, shape: tuple[int, ...], what: str, blame: Blame) -> Vector:
    """Return real numbers of a shape as float64, or raise PluginError."""
    vector = _real(values)
    if vector is None or vector.shape != shape:
        raise blame.fault(f"returned {what} that are not {shape} real numbers: {_short(values)}")
    return vector


def pair(answer: Any, what: str, blame: Blame) -> tuple[Any, Any]:
    """Return the two things that a plugin answered with, or raise PluginError that says which they should be."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise blame.fault(f"returned {_short(answer)}, not {what}, a tuple of two")
    return answer


def _real(values: Any) -> Vector | None:
    """Return numbers as float64, or None for what is none: complex ones would lose a part, texts would be read."""
    try:
        found = np.asarray(values)
        return found.astype(np.float64) if found.dtype.kind in "biuf" else None
    except (TypeError, ValueError, RuntimeError):  # the last is PyTorch's, of a tensor that cannot be an array
        return None


def _notes(notes: Any, count: int, blame: Blame) -> dict[str, Vector]:
    names_of_record(notes, "notes", blame)
    return {name: numbers(values, (count,), f"notes {name!r}", blame) for name, values in notes.items()}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def normalised(answer: Vector, moment: Moment, blame: Blame) -> Vector:
    """Return an answer as float64 weights that sum to 1, or raise PluginError with what is wrong."""
    names = moment.sources.names
    vector = _real(answer) if isinstance(answer, np.ndarray | list | tuple) else None
    if vector is None:
        what = _short(answer) if isinstance(answer, list | tuple) else type(answer).__name__
        what = f"{answer.dtype} numbers" if isinstance(answer, np.ndarray) else what
        raise blame.fault(f"returned {what}, which is no vector of {len(names)} real numbers")
    if vector.shape != (len(names),):
        raise blame.fault(f"returned the shape {vector.shape}, not ({len(names)},), one number a source")
    for wrong, word in ((~np.isfinite(vector), "not finite"), (vector < 0, "negative")):
        if wrong.any():
            worst = int(np.flatnonzero(wrong)[0])
            raise blame.fault(f"returned {vector[worst]} for source {names[worst]!r}, which is {word}")
    barred = ~moment.active & (vector > 0)
    if barred.any():
        worst = int(np.argmax(np.where(barred, vector, 0)))
        raise blame.fault(f"gave {vector[worst]:.6g} to source {names[worst]!r}, which is excluded")
    if not vector.any():
        raise blame.fault("returned zero for every source")
    vector = vector / vector.max()  # first, so that the sum of huge numbers stays finite
    return np.asarray(vector / vector.sum())


def landed(weights: Vector, moment: Moment, landing: str) -> Vector:
    """Return the point of the region for checked weights; whatever leaves here satisfies the region bit for bit."""
    region = moment.region
    point = region.settle(weights) if region.offence(weights) <= NEAR else weights
    if not region.contains(point):
        point = region.project(weights, divergence=landing)
    violations = region.check(point)
    if violations:
        raise AssertionError(f"andrea's own landing left the region, please report: {'; '.join(violations)}")
    return np.asarray(point)
