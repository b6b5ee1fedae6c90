"""`andrea run` and `andrea resume`: train a scenario, or go on with a run."""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from andrea_core.cli.arguments import THREADS, note
from andrea_core.cli.notes import silent_reward
from andrea_core.launched import said_once, several

if TYPE_CHECKING:
    from andrea_core.experiment import Experiment
    from andrea_core.model.ranks import Ranks
    from andrea_core.phase import Director
    from andrea_core.scenario import Loaded

_FOLDER = click.Path(path_type=Path)


def scenario_options(command: Any) -> Any:
    """Add the argument SCENARIO and the options that shape it: profile, scale, set, seed, plugin."""
    return click.argument("scenario", type=_FOLDER)(shaping_options(command))


def shaping_options(command: Any) -> Any:
    """Add the options that shape a scenario."""
    options = [
        click.option("--profile", metavar="NAME", help="Use this profile of the scenario instead of its default."),
        click.option("--scale", type=float, metavar="X", help="Multiply every step span by X; replaces the profile's."),
        click.option(
            "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set one key, for example run.steps=500."
        ),
        click.option("--seed", type=int, metavar="N", help="Use this seed instead of the scenario's."),
        click.option(
            "--plugin", "plugins", multiple=True, metavar="FILE", help="Activate a plugin: a .py file or a name."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@scenario_options
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda", "mps"]), default="auto", show_default=True)
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads (default: PyTorch's choice).")
@click.option("--out", type=_FOLDER, metavar="DIR", help="The run's own folder (default: runs/NAME-TIME).")
def run(device: str, threads: int | None, out: Path | None, **options: Any) -> int:
    """Train SCENARIO, a TOML file, and write a run folder with its record, checkpoints and report."""
    from andrea_core.cli.console import display

    refuse_optimised()
    known = None if several() else load_scenario(**options)  # one alone is refused before torch is imported
    let_threads_sleep()
    from andrea_core.assembly import new_run
    from andrea_core.model.launch import with_ranks
    from andrea_core.progress import Progress

    def begun(ranks: "Ranks") -> int:
        loaded = known or ranks.alike(lambda: load_scenario(**options))
        progress = display() if ranks.first else Progress()
        texts = cautioned(loaded) if ranks.first else []
        with folder_errors(out or Path("runs")):
            experiment = new_run(loaded, out, progress, device=device, threads=threads, ranks=ranks)
        for text in texts:  # an error stands alone
            note(f"warning: {text}")
        return finish(experiment, None)

    return with_ranks(begun)


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path, file_okay=False))
@click.option("--device", type=click.Choice(["cpu", "cuda", "mps"]), help="Go on elsewhere (no longer bit for bit).")
def resume(folder: Path, device: str | None) -> int:
    """Go on with RUN, a run's folder, from its newest valid checkpoint, bit for bit."""
    from andrea_core.cli.console import display

    refuse_optimised()
    let_threads_sleep()
    from andrea_core.assembly import resumed_run
    from andrea_core.model.launch import with_ranks
    from andrea_core.progress import Progress
    from andrea_core.runs.status import stopped_early

    def gone_on(ranks: "Ranks") -> int:
        progress = display() if ranks.first else Progress()
        early = stopped_early(folder) if ranks.first else None
        experiment, step = resumed_run(folder, progress, device=device, ranks=ranks)
        if early is not None:
            note(f"note: a probe stopped this run at step {early}; it goes on past that point")
        code = finish(experiment, step)  # also at the last step: its phase, or the report, may be missing
        if step >= experiment.total and ranks.first:
            click.echo(f"{folder} is complete: {step} steps")
        return code

    return with_ranks(gone_on)


def load_scenario(
    scenario: Path,
    profile: str | None,
    scale: float | None,
    settings: tuple[str, ...],
    seed: int | None,
    plugins: tuple[str, ...],
) -> "Loaded":
    """Return the scenario that the options ask for."""
    from andrea_core.scenario import load

    return load(scenario, profile=profile, scale=scale, settings=settings, seed=seed, plugins=plugins)


def cautioned(loaded: "Loaded") -> list[str]:
    """Return what may be a mistake in a scenario, once its plan is known to be none."""
    from andrea_core.cautions import cautions
    from andrea_core.plan import Plan

    plan = Plan.of(loaded)
    plan.check()
    return cautions(loaded, plan)


def finish(experiment: "Experiment", step: int | None, *, resume: bool = True) -> int:
    """Train, then print the summary and say where everything is.

    `step` is where the run stands, None for its very beginning; with `resume` that checkpoint is gone on from.
    """
    from andrea_core.cli import INTERRUPTED, STOPPED
    from andrea_core.experiment import Interrupted

    folder, first = experiment.folder.path, experiment.trainer.ranks.first
    sources = experiment.director.sources.names
    experiment.progress.open(experiment.director.scenario.name, str(folder), sources, step or 0, experiment.total)
    try:
        findings = experiment.run(step if resume else None)
    except Interrupted as stopped:
        experiment.progress.close()
        if first:
            lost = stopped.step in (experiment.saver.diverged, experiment.saver.left_out)
            saved = "no checkpoint of it, the loss or the weights are not finite" if lost else "checkpoint written"
            click.echo(f"stopped at step {stopped.step}, {saved}; go on with: andrea resume {folder}", err=True)
        return INTERRUPTED
    finally:
        experiment.progress.close()
        experiment.folder.release()
    if first:
        _summarise(folder, experiment.director)
    if findings.stop and first:
        click.echo(f"the run was stopped early by a probe: {findings.stop}", err=True)
    return STOPPED if findings.stop else 0


def refuse_several(command: str) -> None:
    """Raise RunError when torchrun has started a command that only one process can carry out."""
    from andrea_core.errors import RunError

    if several():
        raise said_once(
            RunError(f"`andrea {command}` is for one process; start `run` and `resume` with torchrun, nothing else")
        )


def refuse_optimised() -> None:
    """Refuse `python -O`: the record's library, zarr, does not work without its assertions."""
    from andrea_core.errors import RunError

    if sys.flags.optimize:
        raise said_once(
            RunError("runs cannot be recorded under python -O; unset PYTHONOPTIMIZE, and start Python without -O")
        )


@contextmanager
def folder_errors(folder: Path) -> Iterator[None]:
    """Turn what the file system says against a run's folder, before it is written to or then, into one RunError."""
    from andrea_core.errors import RunError

    try:
        _refuse_no_folder(folder)
        yield
    except OSError as error:
        if not str(error.filename or "").startswith(str(folder)):
            raise
        problem = f"the run's folder {folder} cannot be made: {error.strerror}"
        raise RunError(f"{problem}; name another folder with --out") from error


def _refuse_no_folder(folder: Path) -> None:
    """Raise OSError when a path cannot become a folder because of what is there: a file, or a link to nothing."""
    for place in (folder, *folder.parents):
        try:
            mode = place.stat().st_mode
        except FileNotFoundError:
            if place.is_symlink():
                raise OSError(errno.ENOENT, f"{place} is a link to nothing", str(folder)) from None
            continue
        if not stat.S_ISDIR(mode):
            raise OSError(errno.ENOTDIR, f"{place} is a file", str(folder))
        return


def let_threads_sleep() -> None:
    """Let OpenMP threads sleep at barriers instead of spinning there; must come before torch is imported.

    Spinning threads take the cores away from each other when anything else runs: a step then takes
    several times as long.
    It changes no result.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _summarise(folder: Path, director: "Director") -> None:
    from rich.console import Console

    from andrea_core.report.page import write_report
    from andrea_core.report.probe_costs import cost_lines
    from andrea_core.report.terminal import summary_table
    from andrea_core.runs.store import open_run

    run = open_run(folder)
    Console(markup=False, emoji=False).print(summary_table(run))
    for line in cost_lines(run):
        click.echo(line)
    if silent := silent_reward(run, director.scenario, director.catalogue):
        note(f"note: {silent}")
    report = write_report(folder)
    click.echo(f"run     {folder}\nreport  {report}")
