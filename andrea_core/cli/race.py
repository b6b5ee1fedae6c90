"""`andrea race`: policies against each other and against the controls, on a learner of known truth."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from andrea_core.cli.running import scenario_options

if TYPE_CHECKING:
    from andrea_core.simulator.race import Ground, Heat
    from andrea_core.simulator.standings import Standing

_FOLDER = click.Path(path_type=Path)


@click.command()
@scenario_options
@click.option(
    "--policies", required=True, metavar="A,B,...", help='Policies: names, or ucb1(c=2); "scenario" is its own.'
)
@click.option("--seeds", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="Runs a policy.")
@click.option(
    "--truth",
    metavar="NAME|FILE",
    default="transfer",
    show_default=True,
    help="transfer, forgetting, noise, unlearnable, change_points, vertex_trap, or a TOML file.",
)
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Processes.")
@click.option("--out", type=_FOLDER, metavar="DIR", help="Where table and figure go (default: races/NAME-TRUTH-TIME).")
def race(policies: str, seeds: int, truth: str, jobs: int, out: Path | None, **options: Any) -> None:
    """Simulate SCENARIO under each policy with the same seeds, and print the table of regrets as Markdown.

    Always among them: uniform, proportional and random weights, and for each run a static one at its own mean weights.
    """
    from andrea_core.simulator.race import Ground, entrants, learns, listed, race as raced
    from andrea_core.simulator.standings import standings

    asked = listed(policies)
    if not all(asked):
        raise click.UsageError(f"--policies {policies!r}: write names with commas between them, for example ucb1,exp3")
    seed = options.pop("seed")
    ground = Ground(truth=truth, **options)
    names = entrants(asked)
    loaded = {name: ground.loaded(name) for name in names}
    first = next(iter(loaded.values())).scenario.seed if seed is None else seed
    began = time.monotonic()
    heats = raced(ground, names, range(first, first + seeds), jobs=jobs, tell=_counter(len(names) * seeds))
    rows = standings(heats, {name: learns(one) for name, one in loaded.items()})
    scenario = loaded[names[0]].scenario
    _tell(rows, f"{scenario.name}, truth {truth}", scenario.run.steps, seeds)
    click.echo(f"{len(heats)} runs in {time.monotonic() - began:.0f} s", err=True)
    _write(out or Path("races") / _folder_name(scenario.name, truth), ground, heats, rows)


def _counter(total: int) -> Any:
    """Return what says on the error stream how far a race is, a line each tenth."""
    done = 0

    def tell(_heat: "Heat") -> None:
        nonlocal done
        done += 1
        if done * 10 // total > (done - 1) * 10 // total:
            click.echo(f"{done} of {total} runs", err=True)

    return tell


def _tell(rows: "list[Standing]", what: str, steps: int, seeds: int) -> None:
    from andrea_core.simulator.standings import LEVEL, markdown, summary

    interval = f", ± {100 * LEVEL:.0f} % intervals (Student's t; of paired differences where two are compared)"
    click.echo(f"{what}: {steps:,} steps, {seeds} seeds; thousandths of a nat a token{interval if seeds > 1 else ''}\n")
    click.echo(markdown(rows))
    click.echo(summary(rows))


def _write(folder: Path, ground: "Ground", heats: "list[Heat]", rows: "list[Standing]") -> None:
    """Write every run as CSV, the table as JSON and Markdown, and the figure."""
    from andrea_core.runs.files import disk_errors, write_text
    from andrea_core.simulator.forest import forest
    from andrea_core.simulator.standings import as_csv, as_json, markdown

    seeds = sorted({heat.seed for heat in heats})
    facts = {"scenario": ground.scenario.name, "profile": ground.profile, "truth": ground.truth, "seeds": seeds}
    title = f"{ground.scenario.stem}, truth {Path(ground.truth).stem}, {len(seeds)} seeds"
    files = {
        "runs.csv": as_csv(heats),
        "race.json": as_json(rows, facts),
        "race.md": markdown(rows),
        "race.svg": forest(rows, title),
    }
    with disk_errors(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_text(folder / name, text)
    click.echo(f"race    {folder}\nfigure  {folder / 'race.svg'}")


def _folder_name(name: str, truth: str) -> str:
    return f"{name}-{Path(truth).stem}-{time.strftime('%Y%m%d-%H%M%S')}"
