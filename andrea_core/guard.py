"""Guards the two invariants: every plugin's answer is checked, landed on the region, or blamed on its plugin."""

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import attrs
import numpy as np

from andrea_core.contracts import Adjust
from andrea_core.errors import AndreaError, PluginError
from andrea_core.simplex.fixup import fix_up
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
        where = f"phase {self.phase} of stage {self.stage!r}"
        return PluginError(f"the {self.kind} {self.name!r} ({self.origin}) {what}, in {where}")


@attrs.frozen(eq=False)
class Landed:
    """A proposal after the core: `requested` (K,) normalised, `weights` (K,) on the region."""

    requested: Vector
    weights: Vector
    proposal: Proposal


@contextmanager
def blaming(blame: Blame) -> Iterator[None]:
    """Turn whatever a plugin raises into a PluginError that names it and the line; the project's own errors pass."""
    try:
        yield
    except AndreaError as error:
        error.args = (str(blame.fault(f"failed: {error}")),)
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(str(error).split())
        raise blame.fault(f"raised {type(error).__name__}: {text} (line {last.lineno} of {last.filename})") from error


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
    if proposal.steps is not None and (not isinstance(proposal.steps, int) or proposal.steps < 1):
        raise blame.fault(f"asked for a phase of {proposal.steps!r} steps")
    return Landed(requested, weights, proposal)


def normalised(answer: Vector, moment: Moment, blame: Blame) -> Vector:
    """Return an answer as float64 weights that sum to 1, or raise PluginError with what is wrong."""
    names = moment.sources.names
    try:
        vector = np.array(answer, np.float64) if isinstance(answer, np.ndarray | list | tuple) else None
    except (TypeError, ValueError):
        vector = None
    if vector is None:
        raise blame.fault(f"returned {type(answer).__name__}, which is no vector of {len(names)} numbers")
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
    off = np.maximum(region.lower - weights, weights - region.upper).max()
    if max(off, abs(weights.sum() - 1)) <= NEAR:
        point = fix_up(weights, region.box)
    else:
        point = region.project(weights, divergence=landing)
    violations = region.check(point)
    if violations:
        raise AssertionError(f"andrea's own landing left the region, please report: {'; '.join(violations)}")
    return np.asarray(point)
