"""What a plugin must be: one Protocol a kind, and the values that pass between plugins and the core."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import attrs
import numpy as np
import numpy.typing as npt
from numpy.random import Generator

if TYPE_CHECKING:
    from andrea_core.model.view import ModelView
    from andrea_core.simplex import Region

Vector = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Scores = Vector  # (K,) one reward a source, NaN where the phase gave none
S = TypeVar("S")

NEEDS = frozenset({"heldout"})
"""What a policy, reward or probe may ask for with its `needs`; what nobody asks for is not measured."""


@attrs.frozen(eq=False)
class Sources:
    """The sources of an experiment, in the scenario's order: a bandit's arms.

    `tokens` (K,) counts the training tokens of one epoch of each source.
    """

    names: tuple[str, ...]
    tokens: Integers

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Return the position of a source; raises ValueError for an unknown name."""
        return self.names.index(name)


@attrs.frozen(eq=False)
class Ledger:
    """What training has used so far, each (K,): rows drawn, tokens trained, passes over the source's own text."""

    drawn: Integers
    trained: Integers
    epochs: Vector


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
    weights: Vector | None = None


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
    weights: Vector
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
class Observation:
    """What a phase showed, row by row: `loss` (steps, rows) sums in nats, `tokens` and `source` of the same shape.

    `heldout` (K,) is the held-out loss in nats a token after the phase, NaN for a source without; None if nobody needs it.
    `weights` (K,) were in force; `step` is the number of steps finished when the phase ended.
    """

    loss: Vector
    tokens: Integers
    source: Integers
    weights: Vector
    step: int
    heldout: Vector | None = None

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
    weights: Vector
    share: Vector
    reward: Vector
    seen: Mask
    loss: Vector
    observation: Observation


@attrs.frozen(eq=False)
class Measurement:
    """One measured value: a number, a (K,) vector with one entry a source, or a text; `status` says how far to trust it."""

    value: float | Vector | str
    status: str = "ok"


@attrs.frozen(eq=False)
class Findings:
    """What the probes of a phase border found: probe name to its measurements; `stop` is a probe's reason to end the run."""

    measured: Mapping[str, Mapping[str, Measurement]]
    stop: str | None = None


@attrs.frozen
class Stage:
    """A stretch of steps [start, until) with its sources and its constraints; no sources named means all of them."""

    name: str
    start: int
    until: int
    sources: tuple[str, ...] | None = None
    constraints: tuple["ConstraintSet", ...] = ()


@attrs.frozen
class Document:
    """One text of a source. `group` keeps related documents on one side of the train / held-out split; "" is its own."""

    text: str
    group: str = ""
    licence: str = ""
    origin: str = ""


class SourceReader(Protocol):
    """A source of text: `[sources.NAME] use = "..."`."""

    def fingerprint(self, name: str) -> str:
        """Return a text that changes whenever the documents would: the key of the cache."""

    def documents(self, name: str) -> Iterator[Document]:
        """Yield the documents of the source `name`, always in one order; raises CorpusError."""


class ConstraintSet(Protocol):
    """Cuts the region. `around_weights` marks a set that depends on the present weights; it is applied last."""

    @property
    def around_weights(self) -> bool:
        """Whether the set depends on the present weights."""

    def restrict(self, region: "Region", context: Context) -> "Region":
        """Return a region inside the given one."""


class Curriculum(Protocol[S]):
    """Says which stage a step belongs to."""

    def start(self, sources: Sources) -> S:
        """Return the state before step 0."""

    def stage(self, state: S, step: int) -> Stage:
        """Return the stage that the step belongs to."""

    def update(self, state: S, outcome: Outcome, findings: Findings) -> S:
        """Return the state after a phase."""


class Phases(Protocol):
    """Says how long weights stay."""

    def length(self, context: Context, rng: Generator) -> int:
        """Return the number of steps of the next phase, at least 1; a stage border may cut it."""


class Policy(Protocol[S]):
    """Chooses weights. Pure: all it remembers is in the state."""

    @property
    def needs(self) -> frozenset[str]:
        """Which of NEEDS it asks for."""

    def start(self, sources: Sources) -> S:
        """Return the state before the first phase."""

    def propose(self, state: S, moment: Moment, rng: Generator) -> Vector | Proposal:
        """Return the wished weights (K,): finite, not negative, not all 0, none on an inactive source."""

    def update(self, state: S, outcome: Outcome) -> S:
        """Return the state after a phase."""


class Adjust(Protocol):
    """Changes a policy's wish before it is landed on the region."""

    def adjust(self, requested: Vector, moment: Moment) -> Vector:
        """Return other weights (K,) that sum to 1."""


class Reward(Protocol[S]):
    """Turns what a phase showed into one number a source."""

    @property
    def needs(self) -> frozenset[str]:
        """Which of NEEDS it asks for."""

    def start(self, sources: Sources) -> S:
        """Return the state before the first phase."""

    def score(self, state: S, observation: Observation, rng: Generator) -> tuple[Scores, S]:
        """Return the rewards (K,), NaN where there is none, and the next state."""


class Probe(Protocol[S]):
    """Looks at the model and touches nothing."""

    @property
    def needs(self) -> frozenset[str]:
        """Which of NEEDS it asks for."""

    def start(self, sources: Sources) -> S:
        """Return the state before the first measurement."""

    def measure(self, state: S, view: "ModelView", rng: Generator) -> tuple[Mapping[str, Measurement], S]:
        """Return the measurements by name, and the next state. A measurement named `stop` with a text ends the run."""


class Observer(Protocol):
    """Is told what happened after each phase; may fail without harm to the run."""

    def open(self, folder: str, sources: Sources) -> Any:
        """Return a handle that the other calls receive."""

    def phase(self, handle: Any, record: Mapping[str, Any]) -> None:
        """Take one finished phase: plain numbers, texts and lists."""

    def close(self, handle: Any) -> None:
        """Release what `open` took."""


def mean_loss(loss: Vector, tokens: Integers, source: Integers, count: int) -> Vector:
    """(K,) token-weighted mean of row losses by source, NaN where a source has no token."""
    sums = np.bincount(source.ravel(), loss.ravel(), count)
    totals = np.bincount(source.ravel(), tokens.ravel(), count)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(totals > 0, sums / totals, np.nan)
