"""Dice: in each phase draw which of several policies acts; all of them learn (ANDREA's dice control)."""

import sys
from typing import Any, ClassVar

import attrs
import numpy as np

from andrea_core import Moment, Outcome, Policy, PolicyTraits, Proposal, ScenarioError, Sources, positive


@attrs.frozen(kw_only=True)
class Face:
    """One side of the dice: its part of the phases, relative to the other faces, and the policy that then acts.

    `name` is what the record calls it; without one it is the policy's class name in lower case ("ucb1").
    """

    share: float = positive()
    policy: Policy[Any] = attrs.field()
    name: str | None = None

    @property
    def label(self) -> str:
        """The name under which the record shows the face."""
        return self.name or type(self.policy).__name__.lower()


def _summable(_dice: "Dice", _attribute: "attrs.Attribute[Any]", faces: tuple[Face, ...]) -> None:
    if sum(face.share for face in faces) > sys.float_info.max:
        raise ValueError(
            "the shares of the faces sum to more than a number can hold; only their ratios count, so divide them all, "
            "for example shares of 0.3 and 0.7"
        )


def _distinct(_dice: "Dice", _attribute: "attrs.Attribute[Any]", faces: tuple[Face, ...]) -> None:
    if not faces:
        raise ValueError("needs at least one face")
    labels = [face.label for face in faces]
    for label in labels:
        if labels.count(label) > 1:
            raise ValueError(f"two faces are called {label!r}; give each a `name` of its own, so that records differ")


@attrs.frozen
class Dice:
    """Draw one face by its share, let its policy propose, and tell every face's policy every outcome.

    Source: the random phases and bandit phases of the seed lessons. ANDREA calls its control "dice"; its shares are not
    published. Reward and unseen sources: as the faces' policies have it. Pull model: a policy learns from all phases,
    those that another face chose too, so the random phases serve as exploration.
    Departure: ANDREA's focus sets are not reproduced.
    The record names the face that acted ("ucb1"; for a dice inside a dice, "dice/ucb1").
    """

    faces: tuple[Face, ...] = attrs.field(validator=[_distinct, _summable])
    traits: ClassVar[PolicyTraits] = PolicyTraits(
        pull="mixed", unseen="as the faces' policies have it", equivariant=False
    )

    @property
    def needs(self) -> frozenset[str]:
        """All that the faces' policies ask for."""
        return frozenset().union(*(face.policy.needs for face in self.faces))

    def start(self, sources: Sources) -> tuple[Any, ...]:
        """Return the states of the faces' policies; raises ScenarioError that names a face which does not fit."""
        return tuple(_begun(index, face, sources) for index, face in enumerate(self.faces))

    def propose(self, state: tuple[Any, ...], moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return the proposal of the face that was drawn, with its name in `acted`."""
        shares = np.array([face.share for face in self.faces])
        ladder = np.cumsum(shares / shares.sum())
        drawn = int(np.searchsorted(ladder / ladder[-1], rng.random(), side="right"))  # as `choice` does, quicker
        face = self.faces[drawn]
        answer = face.policy.propose(state[drawn], moment, rng)
        proposal = answer if isinstance(answer, Proposal) else Proposal(answer)
        return attrs.evolve(proposal, acted=_path(face.label, proposal.acted))

    def update(self, state: tuple[Any, ...], outcome: Outcome) -> tuple[Any, ...]:
        """Return the faces' states, each after the outcome."""
        pairs = zip(self.faces, state, strict=True)
        return tuple(face.policy.update(known, outcome) for face, known in pairs)


def _begun(index: int, face: Face, sources: Sources) -> Any:
    try:
        return face.policy.start(sources)
    except ScenarioError as error:
        raise ScenarioError(
            f"faces[{index}] ({face.label}) does not fit the sources of this scenario or run: {error}"
        ) from error


def _path(label: str, inner: str | None) -> str:
    return f"{label}/{inner}" if inner else label
