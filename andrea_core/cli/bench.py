"""`andrea bench`: how fast a scenario trains on this machine, and where the time goes."""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from andrea_core.cli.arguments import THREADS
from andrea_core.cli.running import load_scenario, shaping_options

if TYPE_CHECKING:
    from andrea_core.bench import Speed


@click.command()
@click.argument("scenario", type=click.Path(path_type=Path), required=False)
@shaping_options
@click.option("--steps", type=click.IntRange(min=1), default=200, show_default=True, help="Steps to take, about.")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda", "mps"]), default="auto", show_default=True)
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads (default: PyTorch's choice).")
def bench(scenario: Path | None, steps: int, device: str, threads: int | None, **options: Any) -> None:
    """Train SCENARIO for some steps, keep nothing, and print its speed; without one, a small model on random words.

    MFU is the model's operations, 6 N + 12 L d T a token, as a part of the peak that is named beside it.
    """
    from andrea_core.bench import measure, write_scenario

    with tempfile.TemporaryDirectory(prefix="andrea-bench-") as name:
        folder = Path(name)
        if scenario is None:
            os.environ["ANDREA_CACHE"] = str(folder / "cache")  # nobody will want these texts again
            scenario = write_scenario(folder)
        loaded = load_scenario(scenario, **options)
        click.echo(shown(measure(loaded, folder / "run", steps, device=device, threads=threads)))


def shown(speed: "Speed") -> str:
    """Return the measurements as lines."""
    names = {"model": "step"}
    shares = ", ".join(f"{names.get(name, name)} {100 * share:.2f} %" for name, share in speed.shares.items())
    part = speed.utilisation
    used = speed.denominator
    if part is not None and speed.peak is not None:
        used = f"{100 * part:.1f} % of {speed.peak / 1e12:,.3f} TFLOP/s ({speed.denominator})"
    return (
        f"steps      {speed.steps}\n"
        f"tokens/s   {speed.training:,.0f} in the step, {speed.overall:,.0f} with everything\n"
        f"MFU        {used}\n"
        f"time       {shares}"
    )
