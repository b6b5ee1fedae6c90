"""`andrea fork`: a new run that begins where another one stood."""

from pathlib import Path
from typing import Any

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
    loaded = load_scenario(**options)
    progress = display()
    let_threads_sleep()
    from andrea_core.forking import forked_run

    with folder_errors(out or Path("runs")):
        experiment, start = forked_run(folder, step, loaded, out, progress, device=device, threads=threads)
    return finish(experiment, start, resume=False)


def run_and_step(text: str) -> tuple[Path, int | None]:
    """Return the folder and the step of RUN@STEP; no step when none is named, or when a folder has that very name."""
    name, at, step = text.rpartition("@")
    if at and step.isdigit() and not Path(text).is_dir():
        return Path(name), int(step)
    return Path(text), None
