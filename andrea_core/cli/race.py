"""`andrea race`: policies against each other and against the controls, on a learner of known truth."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from andrea_core.cli.running import scenario_options

if TYPE_CHECKING:
    from andrea_core.scenario import Loaded
    from andrea_core.simulator.heats import Heats
    from andrea_core.simulator.race import Ground, Heat
    from andrea_core.simulator.standings import Standing

FAILED = 1
_SEEDS, _JOBS = click.IntRange(min=1, max=10_000), click.IntRange(min=1, max=256)
_FOLDER = click.Path(path_type=Path)


@click.command()
@scenario_options
@click.option(
    "--policies", required=True, metavar="A,B,...", help='Policies: names, or ucb1(c=2); "scenario" is its own.'
)
@click.option("--seeds", type=_SEEDS, default=20, show_default=True, metavar="N", help="Runs a policy.")
@click.option(
    "--truth",
    metavar="NAME|FILE",
    default="transfer",
    show_default=True,
    help="transfer, forgetting, noise, unlearnable, change_points, vertex_trap, or a TOML file.",
)
@click.option("--jobs", type=_JOBS, default=1, show_default=True, metavar="N", help="Processes.")
@click.option("--out", type=_FOLDER, metavar="DIR", help="Where table and figure go (default: races/NAME-TRUTH-TIME).")
def race(policies: str, seeds: int, truth: str, jobs: int, out: Path | None, **options: Any) -> int:
    """Simulate SCENARIO under each policy with the same seeds, and print the table of regrets as Markdown.

    Always among them: uniform, proportional and random weights, and for each run a static one at its own mean weights.
    A policy that fails on the way is a row, with the reason below, and the exit code is then 1; the others are kept.
    A race that was broken off is gone on with when the same command names its folder with --out.
    """
    from andrea_core.simulator.heats import begun, begun_as
    from andrea_core.simulator.race import Ground, check, entrants, listed
    from andrea_core.simulator.simulation import Simulation

    asked = listed(policies)
    if not all(asked):
        raise click.UsageError(f"--policies {policies!r}: write names with commas between them, for example ucb1,exp3")
    twice = next((name for name in asked if asked.count(name) > 1), None)
    if twice is not None:
        raise click.UsageError(f"--policies names {twice} more than once; name each policy once")
    seed = options.pop("seed")
    ground = Ground(truth=truth, **options)
    loaded = check(ground, entrants(asked))
    one = next(iter(loaded.values()))
    first = _seed(one.scenario.seed if seed is None else seed, seeds)
    every = range(first, first + seeds)
    folder = out or Path("races") / _folder_name(one.scenario.name, truth)
    facts = begun_as(loaded, Simulation.of(one, truth).truth.digest)
    with begun(folder, facts) as heats, _told_when_broken_off(folder, every, len(loaded) * seeds):
        return _raced(ground, loaded, every, jobs, heats)


def _raced(ground: "Ground", loaded: "dict[str, Loaded]", seeds: range, jobs: int, kept: "Heats") -> int:
    """Run all heats, print and write what they come to; return the exit code."""
    from andrea_core.simulator.race import learns, race as raced
    from andrea_core.simulator.standings import standings

    began, failed = time.monotonic(), dict[str, str]()
    earlier = [heat for heat in kept.earlier if heat.seed in seeds]
    tell = _Told(kept, len(earlier), len(loaded) * len(seeds))
    heats = raced(ground, list(loaded), seeds, jobs=jobs, tell=tell, failed=failed.__setitem__, earlier=earlier)
    rows = standings(heats, {name: learns(one) for name, one in loaded.items()})
    scenario = next(iter(loaded.values())).scenario
    text = _text(rows, f"{scenario.name}, truth {ground.truth}", scenario.run.steps, len(seeds), failed)
    click.echo(text, nl=False)
    click.echo(f"{len(heats)} runs in {time.monotonic() - began:.0f} s", err=True)
    _write(kept.path.parent, ground, heats, rows, text, failed)
    for name, reason in failed.items():
        click.echo(f"failed: {name}: {reason}", err=True)
    return FAILED if failed else 0


def _seed(first: int, count: int) -> int:
    """Return the first seed; refuse seeds that a scenario's own could not be."""
    if abs(first) + count > 2**63:
        raise click.UsageError(f"--seed {first}: the seeds of a race lie between -2**63 and 2**63; take a smaller one")
    return first


@contextmanager
def _told_when_broken_off(folder: Path, seeds: range, total: int) -> Iterator[None]:
    """Say what an interrupted race has done, and how it is gone on with."""
    try:
        yield
    except (KeyboardInterrupt, click.exceptions.Abort):
        from andrea_core.simulator.heats import RUNS, on_disk

        done = sum(heat.seed in seeds for heat in on_disk(folder / RUNS))
        if done:
            click.echo(
                f"{done} of {total} runs are in {folder / RUNS}; to go on with the others, give the same command "
                f"with --out {folder}",
                err=True,
            )
        raise


class _Told:
    """Writes each run down as it ends, so that nothing done is lost; says how far the race is, a line each tenth."""

    def __init__(self, heats: "Heats", done: int, total: int) -> None:
        self.heats, self.total, self.done = heats, total, done
        if done:
            click.echo(f"{done} of {total} runs were there already", err=True)

    def __call__(self, heat: "Heat") -> None:
        self.heats.add(heat)
        self.done += 1
        if self.done * 10 // self.total > (self.done - 1) * 10 // self.total:
            click.echo(f"{self.done} of {self.total} runs", err=True)


def _text(rows: "list[Standing]", what: str, steps: int, seeds: int, failed: "dict[str, str]") -> str:
    """Return the race as Markdown: a heading, what it measures, the table, a sentence."""
    from andrea_core.simulator.standings import LEVEL, markdown, summary
    from andrea_core.spelling import counted

    interval = f", ± {100 * LEVEL:.0f} % intervals (Student's t; of paired differences where two are compared)"
    about = f"{steps:,} steps, {counted(seeds, 'seed')}; thousandths of a nat a token{interval if seeds > 1 else ''}"
    return f"# Race: {what}\n\n{about}\n\n{markdown(rows, failed)}\n{summary(rows)}\n"


def _write(
    folder: Path,
    ground: "Ground",
    heats: "list[Heat]",
    rows: "list[Standing]",
    text: str,
    failed: "dict[str, str]",
) -> None:
    """Write every run as CSV, the table as JSON and Markdown, and the figure."""
    from andrea_core.runs.files import write_text
    from andrea_core.simulator.forest import forest
    from andrea_core.simulator.heats import RUNS
    from andrea_core.simulator.standings import as_csv, as_json
    from andrea_core.spelling import counted

    seeds = sorted({heat.seed for heat in heats})
    facts = {"scenario": ground.scenario.name, "profile": ground.profile, "truth": ground.truth, "seeds": seeds}
    title = f"{ground.scenario.stem}, truth {Path(ground.truth).stem}, {counted(len(seeds), 'seed')}"
    files = {
        RUNS: as_csv(heats),
        "race.json": as_json(rows, {**facts, "failed": failed}),
        "race.md": text,
        "race.svg": forest(rows, title),
    }
    for name, content in files.items():
        write_text(folder / name, content)
    click.echo(f"race    {folder}\nfigure  {folder / 'race.svg'}")


def _folder_name(name: str, truth: str) -> str:
    return f"{name}-{Path(truth).stem}-{time.strftime('%Y%m%d-%H%M%S')}"
