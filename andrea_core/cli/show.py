"""`andrea show`: a scenario resolved, or a run's facts, before anything is trained."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from andrea_core.cli.running import load_scenario, scenario_options

if TYPE_CHECKING:
    from andrea_core.plan import Plan
    from andrea_core.scenario import Loaded


@click.command()
@scenario_options
@click.option("--toml", is_flag=True, help="Print only the resolved scenario.")
def show(scenario: Path, toml: bool, **options: Any) -> None:
    """Print SCENARIO resolved, its digest, and what each stage will be; SCENARIO may also be a run's folder."""
    from andrea_core.plan import Plan
    from andrea_core.scenario import load_resolved

    loaded = load_resolved(scenario / "scenario.toml") if scenario.is_dir() else load_scenario(scenario, **options)
    click.echo(loaded.text)
    if toml:
        return
    plan = Plan.of(loaded)
    click.echo(f"# digest {loaded.digest}")
    for line in outlook(loaded, plan):
        click.echo(f"# {line}")
    plan.check()


def outlook(loaded: "Loaded", plan: "Plan") -> list[str]:
    """Return a line for each stage: its steps, the decisions to expect, its region; and warnings."""
    from andrea_core.forecast import forecasts

    lines = [f"model {sizes(loaded)}"]
    for stage, foreseen in zip(plan.stages, forecasts(plan), strict=True):
        region = plan.region(stage)
        decisions = expected_decisions(loaded, stage.until - stage.start)
        active = int((region.upper > 0).sum())
        lines.append(
            f"stage {stage.name}: steps {stage.start} to {stage.until}, about {decisions:.0f} decisions, "
            f"{active} of {len(plan.sources)} sources, dimension {region.dimension}"
        )
        if decisions < active:
            lines.append(f"  warning: fewer decisions than sources; a bandit cannot try them all in stage {stage.name}")
        lines += [f"  note: {text}" for text in foreseen]
    return lines


def sizes(loaded: "Loaded") -> str:
    """Return the model's size and the tokens to be trained, in words."""
    from andrea_core.data.tokenizer import BYTES_VOCABULARY

    scenario = loaded.scenario
    shape = scenario.model.resolve()
    vocabulary = BYTES_VOCABULARY if scenario.tokenizer.use == "bytes" else scenario.tokenizer.vocabulary
    tokens = scenario.run.steps * scenario.sampler.rows * shape.context
    return (
        f"{shape.layers} layers of width {shape.width}, {shape.heads} heads, context {shape.context}: "
        f"{shape.parameters(vocabulary):,} parameters; {tokens:,} tokens to train"
    )


def expected_decisions(loaded: "Loaded", steps: int) -> float:
    """Return about how many phases fit into a number of steps."""
    import numpy as np

    from andrea_core.rng import generator
    from andrea_core.values import Context, Ledger, Sources

    count = len(loaded.scenario.sources)
    zero = np.zeros(count, np.int64)
    sources = Sources(tuple(loaded.scenario.sources), zero)
    context = Context(0, 0, "", 0, steps, sources, Ledger(zero, zero, zero.astype(float)))
    rng = generator(loaded.scenario.seed, "outlook")
    return steps / float(np.mean([loaded.scenario.phases.length(context, rng) for _ in range(256)]))
