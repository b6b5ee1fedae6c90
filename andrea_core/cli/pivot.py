"""`andrea pivot`: other constraints for a run that is under way."""

from pathlib import Path

import click


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path, file_okay=False))
@click.argument("constraints", metavar="CONSTRAINTS", type=click.Path(path_type=Path))
def pivot(folder: Path, constraints: Path) -> None:
    """Give RUN, a run's folder, other constraints from its next phase border on.

    CONSTRAINTS is a TOML file with nothing but `constraints`, as in a scenario: the sets that hold in all stages, in
    place of the present ones. It is checked like a scenario against every stage to come; what cannot be is refused,
    and the run is untouched. A run that is not going on now takes it up when it is resumed.
    """
    from andrea_core.pivots import offer

    number, change = offer(folder, constraints)
    click.echo(f"pivot {number} waits for the next phase border of {folder}: {change}")
