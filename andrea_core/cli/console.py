"""Shows a run on a terminal, live, or as one plain line a phase anywhere else."""

import sys
import time

import click
import numpy as np

from andrea_core.progress import PhaseReport, Progress
from andrea_core.values import Vector


def display() -> Progress:
    """Return a live display on a terminal, plain lines elsewhere."""
    return Live() if sys.stdout.isatty() else Plain()


class Plain(Progress):
    """One line a phase."""

    def open(self, name: str, folder: str, sources: tuple[str, ...], step: int, total: int) -> None:
        """Say what begins, and where."""
        self._sources = sources
        click.echo(f"{name}: step {step} of {total}, {len(sources)} sources, run folder {folder}")

    def phase_done(self, report: PhaseReport) -> None:
        """Print the phase's line."""
        click.echo(
            f"step {report.step}/{report.total}  {report.stage}  phase {report.phase} {report.policy} "
            f"({report.steps} steps)  loss {report.loss:.3f}  {report.tokens_per_second:,.0f} tok/s  "
            f"{clock(report.seconds_left)} left  {heaviest(report.weights, self._sources)}"
        )

    def note(self, text: str) -> None:
        """Print a line."""
        click.echo(text)


class Live(Progress):
    """A status that is redrawn a few times a second, with a bar."""

    watched = True

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self.console = Console()
        columns = (TextColumn("{task.fields[head]}"), BarColumn(bar_width=24), TextColumn("{task.fields[tail]}"))
        self._bar = Progress(*columns, console=self.console, refresh_per_second=4, transient=True, auto_refresh=False)
        self._drawn = 0.0

    def open(self, name: str, folder: str, sources: tuple[str, ...], step: int, total: int) -> None:
        """Say what begins, and start drawing."""
        self.console.print(
            f"[bold]{name}[/]: {len(sources)} sources, {total} steps, run folder {folder}", highlight=False
        )
        self._sources, self._total = sources, total
        self._task = self._bar.add_task("", total=total, completed=step, head="", tail="")
        self._stage = self._policy = self._loss = ""
        self._phase, self._weights = 0, np.zeros(len(sources))
        self._bar.start()

    def phase_began(self, stage: str, phase: int, policy: str, weights: Vector) -> None:
        """Take the new phase."""
        self._stage, self._phase, self._policy, self._weights = stage, phase, policy, weights

    def stepped(self, step: int) -> None:
        """Redraw, at most four times a second."""
        now = time.monotonic()
        if now - self._drawn < 0.25:
            return
        self._drawn = now
        head = f"step {step}/{self._total} [bold]{self._stage}[/] phase {self._phase} {self._policy}"
        tail = f"{self._loss}  {heaviest(self._weights, self._sources)}"
        self._bar.update(self._task, completed=step, head=head, tail=tail)
        self._bar.refresh()

    def phase_done(self, report: PhaseReport) -> None:
        """Take the phase's loss and rates."""
        rate = f"{report.tokens_per_second:,.0f} tok/s"
        self._loss = f"loss {report.loss:.3f}  {rate}  {clock(report.seconds_left)} left"

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        self.console.print(text, highlight=False, markup=False)

    def close(self) -> None:
        """Stop drawing."""
        self._bar.stop()


def heaviest(weights: Vector, sources: tuple[str, ...], count: int = 3) -> str:
    """Return the heaviest sources with their weights."""
    order = np.argsort(-weights, kind="stable")[:count]
    return ", ".join(f"{sources[i]} {weights[i]:.2f}" for i in order if weights[i] > 0)


def clock(seconds: float) -> str:
    """Return a duration as h:mm:ss or m:ss.

    >>> clock(83), clock(3723)
    ('1:23', '1:02:03')
    """
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
