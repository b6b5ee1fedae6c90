"""What a plugin must be: one Protocol a kind."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from numpy.random import Generator

from andrea_core.values import (
    Context,
    Document,
    Findings,
    Measurement,
    Moment,
    Observation,
    Outcome,
    Proposal,
    Scores,
    Sources,
    Stage,
    Vector,
)

if TYPE_CHECKING:
    from andrea_core.model.view import ModelView
    from andrea_core.simplex import Region

S = TypeVar("S")

NEEDS = frozenset({"heldout", "loss_after", "source_gradients", "probed", "outcome"})
"""What a plugin may ask for with its `needs`; what nobody asks for is not measured.

`probed` is for rewards that are also `Watching`; `outcome`, what the last phase taught, is for probes: such a probe
cannot look at a stored checkpoint.
"""


class SourceReader(Protocol):
    """A source of text: `[sources.NAME] use = "..."`."""

    def fingerprint(self, name: str) -> str:
        """Return a text that changes whenever the documents would: the key of the cache."""

    def documents(self, name: str) -> Iterator[Document]:
        """Yield the documents of the source `name`, always in one order; raises CorpusError."""


class ConstraintSet(Protocol):
    """Cuts the region. `around_weights` marks a set that depends on the present weights; it is applied last.

    Optional: a set with `lifts_floors = True` may take sources out with `retire`, which drops their floors; it is
    applied after the sets that state them. A set that is also `Foreseeing` is asked by `andrea show`.
    """

    @property
    def around_weights(self) -> bool:
        """Whether the set depends on the present weights."""

    def restrict(self, region: "Region", context: Context) -> "Region":
        """Return a region inside the given one."""


@runtime_checkable
class Foreseeing(Protocol):
    """What a constraint set may add: a word on what is to come."""

    def foresee(self, epochs: Vector, sources: Sources) -> list[str]:
        """Return sentences, given the passes (K,) over each source that floors alone imply by the end of a stage."""


class Curriculum(Protocol[S]):
    """Says which stage a step belongs to. One whose borders are not settled by the steps alone is also `Reacting`."""

    def start(self, sources: Sources) -> S:
        """Return the state before step 0."""

    def stage(self, state: S, step: int) -> Stage:
        """Return the stage that the step belongs to."""

    def update(self, state: S, outcome: Outcome, findings: Findings) -> S:
        """Return the state after a phase."""


@runtime_checkable
class Reacting(Protocol):
    """What a curriculum adds when phases and probes move its borders, so that all of it is checked before the start."""

    @property
    def watches(self) -> frozenset[str]:
        """The names of the probes that it reads; a scenario without one of them is refused.

        Optional beside it: `reads`, the pairs of a probe and the measurement that is read, checked before a run starts.
        """

    def possible(self, steps: int) -> Sequence[Stage]:
        """Return every stage of a run of `steps` steps in order, from its earliest beginning to its latest end."""


class Phases(Protocol):
    """Says how long weights stay."""

    def length(self, context: Context, rng: Generator) -> int:
        """Return the number of steps of the next phase, at least 1; a stage border may cut it."""


class Policy(Protocol[S]):
    """Chooses weights. Pure: all it remembers is in the state.

    Optional: `traits`, a PolicyTraits, says what rewards it is made for and how it treats a source that was not seen.
    """

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
    """Turns what a phase showed into one number a source.

    Optional: `traits`, a RewardTraits, declares the range of its scores and how old their news is.
    """

    @property
    def needs(self) -> frozenset[str]:
        """Which of NEEDS it asks for."""

    def start(self, sources: Sources) -> S:
        """Return the state before the first phase."""

    def score(self, state: S, observation: Observation, rng: Generator) -> tuple[Scores, S]:
        """Return the rewards (K,), NaN where there is none, and the next state."""


@runtime_checkable
class Watching(Protocol):
    """What a reward adds that is made of what a probe measures; it needs `probed`."""

    @property
    def watches(self) -> tuple[str, str]:
        """The probe's name in the record, and the name of a measurement: one number, or one a source."""


class Probe(Protocol[S]):
    """Looks at the model and touches nothing.

    Optional: `times`, a Timetable, says when it looks where a scenario names no time; `group`, where its rows go;
    `measures`, the names (or patterns, `blocks_*`) of its measurements that are one number, or one a source, so that
    a reward or a curriculum that watches another name is refused before a run starts.
    """

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
