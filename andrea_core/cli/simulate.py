"""`andrea simulate`: a scenario with a learner of known truth in the model's place."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from andrea_core.cli.arguments import note
from andrea_core.cli.notes import ignored_reward, silent_reward
from andrea_core.cli.running import folder_errors, load_scenario, refuse_optimised, scenario_options

if TYPE_CHECKING:
    from andrea_core.report.columns import TextTable
    from andrea_core.scenario import Loaded
    from andrea_core.simulator.optimum import Optimum
    from andrea_core.simulator.simulation import Simulation, Trace
    from andrea_core.simulator.verdict import Verdict

_FOLDER = click.Path(path_type=Path)


@click.command()
@scenario_options
@click.option("--policy", metavar="NAME", help="Let this policy act, with its default settings.")
@click.option(
    "--truth",
    metavar="NAME|FILE",
    default="transfer",
    show_default=True,
    help="transfer, forgetting, noise, unlearnable, change_points, vertex_trap, or a TOML file.",
)
@click.option("--out", type=_FOLDER, metavar="DIR", help="The run's own folder (default: runs/NAME-simulated-TIME).")
def simulate(policy: str | None, truth: str, out: Path | None, **options: Any) -> None:
    """Run SCENARIO with a learner of known losses in the model's place: no text, no model, seconds.

    Prints regret against the best weights that the regions allow, and writes a run folder that every command opens.
    """
    from andrea_core.runs.store import open_run
    from andrea_core.simulator.optimum import pieces_of, solve
    from andrea_core.simulator.place import refuse_other
    from andrea_core.simulator.recording import facts_of, recorded
    from andrea_core.simulator.simulation import Simulation
    from andrea_core.simulator.verdict import verdict

    refuse_optimised()
    simulation = Simulation.of(with_policy(policy, options), truth)
    text = ignored_reward(simulation.loaded)
    if text is not None:
        note(f"note: {text}")
    if out is not None:
        with folder_errors(out):
            refuse_other(out, facts_of(simulation))  # before the optimum, which may take seconds
    optimum = solve(simulation.truth, pieces_of(simulation.loaded, simulation.truth, simulation.tokens_per_step))
    with folder_errors(out or Path("runs")):
        folder, trace, optimum = recorded(simulation, optimum, out)
    _tell(simulation, optimum, trace, verdict(simulation.truth, optimum, trace))
    if silent := silent_reward(open_run(folder), simulation.loaded.scenario, simulation.loaded.catalogue):
        note(f"note: {silent}")
    _show(folder)


def with_policy(policy: str | None, options: dict[str, Any]) -> "Loaded":
    """Return the scenario that the options ask for, with the named policy under its default settings.

    `--set` comes after: `--policy ucb1 --set policy.c=2` changes one of them.
    """
    from andrea_core.simulator.race import chosen

    if policy is None:
        return load_scenario(**options)
    return chosen(policy, lambda setting: load_scenario(**options | {"settings": (setting, *options["settings"])}))


def _tell(simulation: "Simulation", optimum: "Optimum", trace: "Trace", found: "Verdict") -> None:
    """Print what the run came to."""
    scenario, truth = simulation.loaded.scenario, simulation.truth
    reached = "never" if found.steps_to_target is None else f"at step {found.steps_to_target:,}"
    lines = {
        scenario.name: f"truth {truth.name}, {len(trace.mean) - 1:,} steps, {len(trace.steps):,} phases",
        "loss": f"{found.loss:.6f} nats a token, the mean of {int(truth.target.sum())} target sources at the end",
        "optimum": f"{optimum.loss:.6f}, certain to {optimum.gap:.1e} (Frank-Wolfe gap)",
        "regret": f"{found.regret:.6f}; static at its own mean weights {found.static_regret:.6f}",
        "target": f"{found.target:.6f}, what uniform weights end with: reached {reached}",
    }
    if truth.pure_noise.any():
        lines["noise"] = f"{100 * found.noise_share:.1f} % of all rows went to pure noise"
    width = max(map(len, lines))
    for name, text in lines.items():
        click.echo(f"{name:<{width}}  {text}")
    from rich.console import Console

    console = Console(markup=False, emoji=False)
    console.print()
    console.print(_table(simulation, optimum, trace))
    if trace.stopped is not None:
        click.echo(f"the run was stopped early by a probe: {trace.stopped}")


def _table(simulation: "Simulation", optimum: "Optimum", trace: "Trace") -> "TextTable":
    """Return a row a source: share of the rows, optimal weight, loss, and loss at the optimum."""
    import numpy as np

    from andrea_core.report.columns import Column, TextTable
    from andrea_core.simulator.optimum import ended

    truth, pieces = simulation.truth, optimum.pieces
    steps = np.array([piece.until - piece.start for piece in pieces], np.float64)
    progress = ended(pieces, optimum.weights)
    columns = {
        "share of rows": [f"{100 * share:.1f}" for share in trace.shares],
        "share optimal": [f"{100 * share:.1f}" for share in steps @ optimum.weights / steps.sum()],
        "loss at end": [f"{loss:.4f}" for loss in trace.losses],
        "loss optimal": [f"{loss:.4f}" for loss in truth.loss(progress)],
    }
    names = Column("source", list(simulation.loaded.scenario.sources))
    note = "Shares in %, losses in nats a token."
    return TextTable(names, [Column(name, cells) for name, cells in columns.items()], note)


def _show(folder: Path) -> None:
    from andrea_core.report.walks import write_walks

    click.echo(f"run     {folder}\nwalks   {write_walks(folder)}\nreport  with: andrea report {folder}")
