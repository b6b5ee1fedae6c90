"""`andrea show`: a scenario resolved, or a run's facts, before anything is trained."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from andrea_core.cli.notes import ignored_reward
from andrea_core.cli.running import load_scenario, scenario_options

if TYPE_CHECKING:
    from andrea_core.plan import Borders, Plan
    from andrea_core.scenario import Loaded


@click.command()
@scenario_options
@click.option("--toml", is_flag=True, help="Print only the resolved scenario.")
def show(scenario: Path, toml: bool, **options: Any) -> None:
    """Print SCENARIO resolved, its digest, and what each stage will be.

    SCENARIO may also be a run's folder: then it says how the run stands, lists its checkpoints, with their size and why
    each is kept, and what its probes have cost so far.
    """
    from andrea_core.plan import Plan
    from andrea_core.scenario import load_resolved

    loaded = load_resolved(scenario / "scenario.toml") if scenario.is_dir() else load_scenario(scenario, **options)
    click.echo(loaded.text)
    if toml:
        return
    plan = Plan.of(loaded)
    click.echo(f"# digest {loaded.digest}")
    for line in [*outlook(loaded, plan), *(known(scenario, loaded) if scenario.is_dir() else [])]:
        click.echo(f"# {line}")
    text = ignored_reward(loaded)
    if text is not None:
        click.echo(f"# note: {text}")
    plan.check()


def known(folder: Path, loaded: "Loaded") -> list[str]:
    """Return how a run stands, a line for each of its checkpoints, and one for the cost of each probe on disk."""
    from andrea_core.errors import RunError
    from andrea_core.report.probe_costs import cost_lines
    from andrea_core.runs.status import status_of
    from andrea_core.runs.store import open_run

    try:
        costs = cost_lines(open_run(folder))
    except RunError as error:
        costs = [f"what the probes cost cannot be read: {error}"]
    return [f"status {status_of(folder, loaded.scenario.run.steps)}", *saved(folder, loaded), *costs]


def saved(folder: Path, loaded: "Loaded") -> list[str]:
    """Return a line for each checkpoint of a run: its step, its size, why it stays, and the time that it took."""
    from andrea_core.runs.checkpoint import CheckpointFolder
    from andrea_core.runs.folder import first_step
    from andrea_core.saving import keep_of, read_saves

    checkpoints, times = CheckpointFolder(folder / "checkpoints"), read_saves(folder)
    lines = []
    for step, why in checkpoints.reasons(keep_of(loaded.scenario.run, first_step(folder))).items():
        took = times.get(step)
        words = f"; the loop waited {took.waited * 1e3:.1f} ms, written in {took.seconds:.2f} s" if took else ""
        kept = ", ".join(why) or "kept by nothing: damaged, or soon to go"
        lines.append(f"checkpoint {step}: {checkpoints.size(step) / 1e6:.1f} MB, {kept}{words}")
    return lines


def outlook(loaded: "Loaded", plan: "Plan") -> list[str]:
    """Return a line for each stage: its steps, the decisions to expect, its region; and what may be a mistake."""
    from andrea_core.cautions import cautions
    from andrea_core.forecast import expected_decisions, forecasts

    lines = [f"model {sizes(loaded)}"]
    for index, (stage, foreseen) in enumerate(zip(plan.stages, forecasts(plan), strict=True)):
        region, borders = plan.region(stage), plan.borders(index)
        shortest, longest = (expected_decisions(loaded, steps) for steps in borders.lengths)
        active = int((region.upper > 0).sum())
        about = f"{shortest:.0f}" if f"{shortest:.0f}" == f"{longest:.0f}" else f"{shortest:.0f} to {longest:.0f}"
        lines.append(
            f"stage {stage.name}: {steps_of(borders, plan.scenario.run.steps)}, about {about} decisions, "
            f"{active} of {len(plan.sources)} sources, dimension {region.dimension}"
        )
        lines += [f"  note: {text}" for text in foreseen]
    return lines + [f"warning: {text}" for text in cautions(loaded, plan)] + memory(loaded)


def steps_of(borders: "Borders", total: int) -> str:
    """Return in words when a stage begins and ends; a range where the curriculum decides on the way."""
    if borders.settled:
        return f"steps {borders.begins[0]} to {borders.ends[0]}"
    begins, ends = (_range(*pair) for pair in (borders.begins, borders.ends))
    never = ", if at all" if borders.begins[1] >= total else ""
    return f"begins at step {begins}{never}, ends at step {ends}"


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def sizes(loaded: "Loaded") -> str:
    """Return the model's size and the tokens to be trained, in words."""
    scenario = loaded.scenario
    shape = scenario.model.resolve()
    tokens = scenario.run.steps * scenario.sampler.rows * shape.context
    return (
        f"{shape.layers} layers of width {shape.width}, {shape.heads} heads, context {shape.context}: "
        f"{shape.parameters(vocabulary(loaded)):,} parameters; {tokens:,} tokens to train"
    )


def vocabulary(loaded: "Loaded") -> int:
    """Return the number of tokens that the model is to know."""
    from andrea_core.data.tokenizer import BYTES_VOCABULARY

    settings = loaded.scenario.tokenizer
    return BYTES_VOCABULARY if settings.use == "bytes" else settings.vocabulary


def memory(loaded: "Loaded") -> list[str]:
    """Return lines on the memory that a training step is predicted to take, and what is held beside it.

    A batch is int64 tokens twice; a checkpoint is copied to the host before it is written, so that the loop goes on.
    """
    from andrea_core.model.memory import free_memory, predicted, shown

    scenario, free = loaded.scenario, free_memory()
    shape, optimizer, rows = scenario.model.resolve(), scenario.optimizer, scenario.sampler.rows
    found = predicted(shape, optimizer, vocabulary(loaded), rows)
    buffers = predicted(shape, optimizer, vocabulary(loaded), rows, copies=True).copies
    beside = [f"batch {2 * 8 * rows * shape.context / 1024:,.0f} KiB", f"checkpoint buffers {shown(buffers)}"]
    here = "" if free is None else f"; {shown(free)} are free here"
    return [f"memory of a step, predicted: {found}", f"  and beside it: {', '.join(beside)}{here}"]
