"""The values that pass between plugins and the core: what a decision may depend on, what a phase showed and taught."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from andrea_core.contracts import ConstraintSet
    from andrea_core.landscape.budget import Cost
    from andrea_core.model.pace import StageOptimizer
    from andrea_core.simplex import Region

Vector = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Scores = Vector  # (K,) one reward a source, NaN where the phase gave none


def read_only(array: Any) -> Any:
    """Return a view of an array that cannot be written to: what plugins get must not change the core's state."""
    if array is None:
        return None
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


@attrs.frozen(eq=False)
class Sources:
    """The sources of an experiment, in the scenario's order: a bandit's arms.

    `tokens` (K,) counts the training tokens of one epoch of each source.
    """

    names: tuple[str, ...]
    tokens: Integers = attrs.field(converter=read_only)

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Return the position of a source; raises ValueError for an unknown name."""
        return self.names.index(name)


@attrs.frozen(eq=False)
class Ledger:
    """What training has used so far, each (K,): rows drawn, tokens trained, passes over the source's own text."""

    drawn: Integers = attrs.field(converter=read_only)
    trained: Integers = attrs.field(converter=read_only)
    epochs: Vector = attrs.field(converter=read_only)


@attrs.frozen(eq=False)
class Context:
    """Where a run stands when constraints and phase lengths are decided.

    `step` counts finished optimiser steps; `stage_start` and `stage_until` are the borders of the present stage.
    `weights` (K,) are the weights in force, already inside the part of the region that does not depend on them;
    None until that part is known.
    """

    step: int
    phase: int
    stage: str
    stage_start: int
    stage_until: int
    sources: Sources
    ledger: Ledger
    weights: Vector | None = attrs.field(default=None, converter=read_only)


@attrs.frozen(eq=False)
class Moment:
    """What a policy may depend on when it proposes the weights of the next phase.

    `region` is the reachable part of the simplex, `weights` (K,) the present point in it (projected when the region was
    redrawn), `active` (K,) marks the sources that may receive mass.
    """

    step: int
    phase: int
    stage: str
    sources: Sources
    region: "Region"
    weights: Vector = attrs.field(converter=read_only)
    ledger: Ledger

    @property
    def active(self) -> Mask:
        """(K,) True where the region leaves a source any mass."""
        return np.asarray(self.region.upper > 0)


@attrs.frozen(eq=False)
class Proposal:
    """A policy's wish: the target weights (K,), if it likes a phase length, and notes (K,) that explain it.

    `acted` names the policy that made it when another one passed it on. Notes land in `phases/notes/<name>`.
    """

    target: Vector
    steps: int | None = None
    notes: Mapping[str, Vector] = attrs.field(factory=dict)
    acted: str | None = None


@attrs.frozen(eq=False)
class Gradients:
    """Inner products of the sources' loss gradients at the end of a phase, each (K, K); NaN where there is no text.

    `train[i, j]` is <g_i, g_j> of training text, `heldout[i, j]` is <g_i, h_j> with h_j the gradient on held-out text.
    """

    train: Vector = attrs.field(converter=read_only)
    heldout: Vector = attrs.field(converter=read_only)


@attrs.frozen(eq=False)
class Observation:
    """What a phase showed, row by row: `loss` (steps, rows) sums in nats, `tokens` and `source` of the same shape.

    `weights` (K,) were in force; `step` is the number of steps finished when the phase ended. The others are None
    unless a policy or reward needs them: `heldout` (K,) is the held-out loss in nats a token after the phase, NaN for
    a source without; `loss_after` (steps, rows) are the same rows' sums right after their own optimiser step; `probed`
    (K,) is what the probe that the reward watches measured at the phase's end, NaN where it did not look.
    """

    loss: Vector = attrs.field(converter=read_only)
    tokens: Integers = attrs.field(converter=read_only)
    source: Integers = attrs.field(converter=read_only)
    weights: Vector = attrs.field(converter=read_only)
    step: int
    heldout: Vector | None = attrs.field(default=None, converter=read_only)
    loss_after: Vector | None = attrs.field(default=None, converter=read_only)
    gradients: Gradients | None = None
    probed: Vector | None = attrs.field(default=None, converter=read_only)

    def tokens_by_source(self) -> Integers:
        """(K,) tokens trained on each source."""
        return np.bincount(self.source.ravel(), self.tokens.ravel(), len(self.weights)).astype(np.int64)

    def rows_by_source(self) -> Integers:
        """(K,) rows drawn from each source."""
        return np.bincount(self.source.ravel(), minlength=len(self.weights)).astype(np.int64)

    def loss_by_source(self) -> Vector:
        """(K,) mean loss in nats a token over the phase, NaN where a source was not seen."""
        return mean_loss(self.loss, self.tokens, self.source, len(self.weights))


@attrs.frozen(eq=False)
class Outcome:
    """What a phase taught, for policies and curricula.

    `share` (K,) is the part of the trained tokens that each source gave, `reward` (K,) its reward (0 where unseen),
    `seen` (K,) marks the sources whose reward is known, `loss` (K,) the mean training loss (NaN where unseen).
    """

    step: int
    phase: int
    weights: Vector = attrs.field(converter=read_only)
    share: Vector = attrs.field(converter=read_only)
    reward: Vector = attrs.field(converter=read_only)
    seen: Mask = attrs.field(converter=read_only)
    loss: Vector = attrs.field(converter=read_only)
    observation: Observation


@attrs.frozen(eq=False)
class Measurement:
    """One measured value: a number, a (K,) vector, one entry a source, or a text; `status` says how far to trust it.

    An array of another shape names its `axes`, as `("layer", "head")`; it has at most 2**16 numbers, and as many at
    every look of a run.
    """

    value: float | Vector | str
    status: str = "ok"
    axes: tuple[str, ...] = ()


@attrs.frozen(eq=False)
class Findings:
    """What the probes of a phase border found, by probe, and what that cost; `stop` is a reason to end the run."""

    measured: Mapping[str, Mapping[str, Measurement]]
    stop: str | None = None
    costs: Mapping[str, "Cost"] = attrs.field(factory=dict)

    def joined(self, later: "Findings") -> "Findings":
        """Return both findings of one border as one."""
        measured = {**self.measured, **later.measured}
        return Findings(measured, self.stop or later.stop, {**self.costs, **later.costs})


@attrs.frozen
class Stage:
    """A stretch of steps [start, until) with its sources and its constraints; no sources named means all of them.

    `reason` says why the stage begins, where something else than its step number decided that; `optimizer` holds the
    optimiser settings that the stage changes.
    """

    name: str
    start: int
    until: int
    sources: tuple[str, ...] | None = None
    constraints: tuple["ConstraintSet", ...] = ()
    reason: str = ""
    optimizer: "StageOptimizer | None" = None


@attrs.frozen
class Document:
    """One text of a source. `group` keeps related documents on one side of the train / held-out split; "" is alone."""

    text: str
    group: str = ""
    licence: str = ""
    origin: str = ""


def mean_loss(loss: Vector, tokens: Integers, source: Integers, count: int) -> Vector:
    """(K,) token-weighted mean of row losses by source, NaN where a source has no token."""
    sums = np.bincount(source.ravel(), loss.ravel(), count)
    totals = np.bincount(source.ravel(), tokens.ravel(), count)
    there = totals > 0
    return np.where(there, sums / np.where(there, totals, 1.0), np.nan)
