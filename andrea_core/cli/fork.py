"""`andrea fork`: a new run that begins where another one stood."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from andrea_core.cli.arguments import THREADS
from andrea_core.cli.running import (
    finish,
    folder_errors,
    let_threads_sleep,
    load_scenario,
    refuse_optimised,
    refuse_several,
    scenario_options,
)
from andrea_core.errors import RunError, ScenarioError
from andrea_core.spelling import OWN_PLUGIN, shown

if TYPE_CHECKING:
    from andrea_core.scenario import Loaded

_MOST_DIGITS = 18


@click.command()
@click.argument("parent", metavar="RUN@STEP")
@scenario_options
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda", "mps"]), default="auto", show_default=True)
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads (default: as in RUN).")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="The new run's own folder.")
def fork(parent: str, device: str, threads: int | None, out: Path | None, **options: Any) -> int:
    """Go on from a checkpoint of RUN, a run's folder, under SCENARIO, as a new run.

    Without @STEP it is the newest checkpoint. Model, optimiser, positions in the text, weights and, where they are of
    the same kind, the states of policy and reward are taken over; steps are counted from RUN's beginning. Sources,
    tokenizer, model, batch and seed must be those of RUN.
    """
    from andrea_core.cli.console import display

    refuse_optimised()
    refuse_several("fork")
    folder, step = run_and_step(parent)
    loaded = _loaded(folder, options)
    progress = display()
    let_threads_sleep()
    from andrea_core.forking import forked_run

    with folder_errors(out or Path("runs")):
        experiment, start = forked_run(folder, step, loaded, out, progress, device=device, threads=threads)
    return finish(experiment, start, resume=False)


def _loaded(parent: Path, options: dict[str, Any]) -> "Loaded":
    """Return the scenario; where it fails, the error names the plugin files that the parent has and it has not."""
    from andrea_core.runs.folder import read_facts, require_run

    require_run(parent)
    try:
        return load_scenario(**options)
    except ScenarioError as error:
        given = {str(Path(name).resolve()) for name in options["plugins"]}
        files = [one["origin"] for one in read_facts(parent)["plugins"] if one["origin"].endswith(".py")]
        lacking = " ".join(f"--plugin {file}" for file in files if file not in given)
        if not lacking or OWN_PLUGIN not in str(error):
            raise
        raise ScenarioError(
            f"{error}\n{parent} was started with plugin files that may be lacking: {lacking}"
        ) from error


def run_and_step(text: str) -> tuple[Path, int | None]:
    """Return the folder and the step of RUN@STEP; no step when none is named, or when a folder has that very name.

    Raises RunError, with the steps that there are, for what is no step.
    """
    name, at, step = text.rpartition("@")
    if not at or Path(text).is_dir():
        return Path(text), None
    if step.isdecimal() and len(step) <= _MOST_DIGITS:
        return Path(name), int(step)
    from andrea_core.runs.checkpoint import CheckpointFolder

    there = ", ".join(map(str, CheckpointFolder(Path(name) / "checkpoints").steps()))
    raise RunError(
        f"{shown(text)}: there is no such folder, and {step[:40]!r} is no step; write RUN@STEP with the step of a "
        f"checkpoint, a whole number{f'; {name} has {there}' if there else ''}"
    )
