"""Shows a run on a terminal, live, or as one plain line a phase anywhere else."""

import sys
import time
from typing import TYPE_CHECKING

import click
import numpy as np

from andrea_core.progress import PhaseReport, Progress
from andrea_core.spelling import counted
from andrea_core.values import Vector

if TYPE_CHECKING:
    from rich.text import Text


def display() -> Progress:
    """Return a live display on a terminal, plain lines elsewhere."""
    return Live() if sys.stdout.isatty() else Plain()


class Plain(Progress):
    """One line a phase."""

    def open(self, name: str, folder: str, sources: tuple[str, ...], step: int, total: int) -> None:
        """Say what begins, and where."""
        self._sources = sources
        click.echo(f"{name}: step {step} of {total}, {counted(len(sources), 'source')}, run folder {folder}")

    def phase_done(self, report: PhaseReport) -> None:
        """Print the phase's line."""
        click.echo(
            f"step {report.step}/{report.total}  {report.stage}  phase {report.phase} {report.policy} "
            f"({report.steps} steps)  loss {report.loss:.3f}  {speed(report)}"
            f"{heaviest(report.weights, self._sources)}"
        )

    def note(self, text: str) -> None:
        """Print a line."""
        click.echo(text)


class Live(Progress):
    """Two lines that are redrawn a few times a second: where the run is, and how it goes."""

    watched = True

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live as Lines

        self.console = Console(markup=False, emoji=False)  # names and texts are the user's, and mean only themselves
        self._lines = Lines(console=self.console, auto_refresh=False, transient=True)
        self._drawn = 0.0

    def open(self, name: str, folder: str, sources: tuple[str, ...], step: int, total: int) -> None:
        """Say what begins, and start drawing."""
        self.note(f"{name}: {counted(len(sources), 'source')}, {total} steps, run folder {folder}")
        self._sources, self._total = sources, total
        self._where, self._last, self._weights = "first look", "", np.zeros(len(sources))
        self._lines.start()
        self.stepped(step)

    def phase_began(self, stage: str, phase: int, policy: str, weights: Vector) -> None:
        """Take the new phase."""
        self._where, self._weights = f"{stage}, phase {phase} {policy}", weights

    def stepped(self, step: int) -> None:
        """Redraw, at most four times a second."""
        now = time.monotonic()
        if now - self._drawn < 0.25:
            return
        self._drawn = now
        self._lines.update(self._text(step), refresh=True)

    def phase_done(self, report: PhaseReport) -> None:
        """Take the phase's loss and rates."""
        self._last = f"loss {report.loss:.3f}  {speed(report)}"

    def note(self, text: str) -> None:
        """Print a line above the two."""
        self.console.print(text, highlight=False, markup=False, emoji=False)

    def close(self) -> None:
        """Stop drawing."""
        self._lines.stop()

    def _text(self, step: int) -> "Text":
        from rich.text import Text

        done = round(BAR * step / self._total)
        first = f"{'━' * done}{'╌' * (BAR - done)} step {step}/{self._total}  {self._where}"
        second = f"{self._last}{heaviest(self._weights, self._sources)}"
        width = self.console.width
        return Text("\n".join(line if len(line) <= width else f"{line[: width - 1]}…" for line in (first, second)))


BAR = 20
"""Width of the bar, in characters."""


def heaviest(weights: Vector, sources: tuple[str, ...], count: int = 3) -> str:
    """Return the heaviest sources with their weights."""
    order = np.argsort(-weights, kind="stable")[:count]
    return ", ".join(f"{sources[i]} {weights[i]:.2f}" for i in order if weights[i] > 0)


def speed(report: PhaseReport) -> str:
    """Return the speed and the time left, two blanks behind each; nothing where they are not known."""
    if not np.isfinite(report.tokens_per_second):
        return ""
    return f"{report.tokens_per_second:,.0f} tok/s  {clock(report.seconds_left)} left  "


def clock(seconds: float) -> str:
    """Return a duration as h:mm:ss or m:ss.

    >>> clock(83), clock(3723)
    ('1:23', '1:02:03')
    """
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
