"""What the loop tells whoever watches: the run's start, each step and phase, and what was worth a line."""

import attrs

from andrea_core.values import Vector


@attrs.frozen(eq=False)
class PhaseReport:
    """A finished phase, for display: losses in nats a token, `weights` (K,).

    Speed and time left are NaN where this process has taken no step yet.
    """

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


class Progress:
    """Shows a run while it goes on; this one shows nothing. `watched` says whether somebody looks at a terminal."""

    watched = False

    def open(self, name: str, folder: str, sources: tuple[str, ...], step: int, total: int) -> None:
        """Begin at `step` of `total`."""

    def phase_began(self, stage: str, phase: int, policy: str, weights: Vector) -> None:
        """Take a phase that was decided."""

    def stepped(self, step: int) -> None:
        """Take a finished step; called often, so it must be cheap."""

    def phase_done(self, report: PhaseReport) -> None:
        """Take a finished phase."""

    def note(self, text: str) -> None:
        """Say one line."""

    def close(self) -> None:
        """End, also after an error."""
