"""What the loop tells whoever watches: the run's start, each step and phase, and what was worth a line."""

from typing import Protocol

import attrs

from andrea_core.values import Vector


@attrs.frozen(eq=False)
class PhaseReport:
    """A finished phase, for display: losses in nats a token, `weights` (K,)."""

    step: int
    total: int
    phase: int
    steps: int
    stage: str
    policy: str
    loss: float
    tokens_per_second: float
    seconds_left: float
    weights: Vector


class Progress(Protocol):
    """Shows a run while it goes on. `watched` says whether somebody looks at a terminal."""

    watched: bool

    def open(self, name: str, folder: str, sources: tuple[str, ...], step: int, total: int) -> None:
        """Begin."""

    def phase_began(self, stage: str, phase: int, policy: str, weights: Vector) -> None:
        """A phase was decided."""

    def stepped(self, step: int) -> None:
        """A step is done; called often, so it must be cheap."""

    def phase_done(self, report: PhaseReport) -> None:
        """A phase ended."""

    def note(self, text: str) -> None:
        """Say one line."""

    def close(self) -> None:
        """End, also after an error."""


class Silent:
    """Shows nothing."""

    watched = False

    def open(self, name: str, folder: str, sources: tuple[str, ...], step: int, total: int) -> None:
        """Ignore."""

    def phase_began(self, stage: str, phase: int, policy: str, weights: Vector) -> None:
        """Ignore."""

    def stepped(self, step: int) -> None:
        """Ignore."""

    def phase_done(self, report: PhaseReport) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""

    def close(self) -> None:
        """Ignore."""
