"""`andrea region`: the part of the simplex that bounds leave, a scenario's or any, in numbers and a picture."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from andrea_core.cli.arguments import WholeNumber
from andrea_core.cli.region_bounds import Extra, extra_of, sources_of
from andrea_core.cli.running import load_scenario, shaping_options
from andrea_core.errors import AndreaError, InfeasibleRegion, ScenarioError

if TYPE_CHECKING:
    from andrea_core.simplex import Region


_OPTIONS = {"settings": "set", "plugins": "plugin"}
"""Options whose keys are not their names."""


@click.command()
@click.argument("scenario", required=False, type=click.Path(path_type=Path))
@shaping_options
@click.option("--stage", metavar="NAME", help="Only this stage of SCENARIO (default: all of them).")
@click.option("--at", type=WholeNumber(min=0), metavar="STEP", help="As of this step: bounds may move with time.")
@click.option("--sources", metavar="A,B,C", help="Without SCENARIO: these sources (default: the 16 bundled ones).")
@click.option("--floors", multiple=True, metavar="A=X,B=Y", help="Weights at least these; may be repeated.")
@click.option("--caps", multiple=True, metavar="A=X,B=Y", help="Weights at most these; may be repeated.")
@click.option("--exclude", multiple=True, metavar="A,B", help="Weights of exactly 0; may be repeated.")
@click.option(
    "--group",
    multiple=True,
    metavar="NAME=A+B[:L..U]",
    help="Sources that belong together, their sum between L and U if given; may be repeated.",
)
@click.option(
    "--figure",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw it: FILE.svg (to print or embed) or FILE.html (interactive). Three groups (the other sources are one "
    "more), or three open sources, make a triangle; all else parallel coordinates of uniform draws.",
)
def region(
    scenario: Path | None,
    stage: str | None,
    at: int | None,
    sources: str | None,
    figure: Path | None,
    floors: tuple[str, ...],
    caps: tuple[str, ...],
    exclude: tuple[str, ...],
    group: tuple[str, ...],
    **options: Any,
) -> None:
    """Show the reachable part of the simplex: effective bounds with their reasons, dimension, share, vertices.

    With SCENARIO the region of each stage, at its start; the bounds of the options come on top. Sets that depend on
    the present weights are taken around the centre. Without SCENARIO, the region of the options alone. Bounds that
    leave no weights are explained, with the smallest repair; the exit code is then 2.
    """
    if figure is not None:
        _refuse_place(figure)
    extra = extra_of(floors, caps, exclude, group)
    if scenario is None:
        regions = {"region": _free(extra, sources, {"stage": stage, "at": at} | options)}
    else:
        if sources is not None:
            raise ScenarioError("--sources goes without SCENARIO: the scenario has its own")
        staged = _staged(load_scenario(scenario, **options), stage, at)
        extra.refuse_unknown(next(iter(staged.values())).names)
        regions = {name: _cut(extra, name, made) for name, made in staged.items()}
    _print(regions)
    if figure is not None:
        _draw(figure, regions, extra.groups)


def _cut(extra: Extra, stage: str, made: "Region") -> "Region":
    try:
        return extra.cut(made)
    except InfeasibleRegion as error:
        error.args = (f"stage {stage!r}: {error}",)
        raise


def _free(extra: Extra, sources: str | None, options: Mapping[str, Any]) -> "Region":
    """Return the region of the options alone; raises ScenarioError for options that shape a scenario."""
    from andrea_core.cli.corpus import bundled_readers
    from andrea_core.simplex import Region

    for key, given in options.items():
        if given is not None and given != ():
            raise ScenarioError(f"--{_OPTIONS.get(key, key)} needs a SCENARIO")
    names = tuple(bundled_readers()) if sources is None else sources_of(sources)
    hint = f"; these are the {len(names)} bundled sources: name your own with --sources A,B,C"
    extra.refuse_unknown(names, hint if sources is None else "")
    return extra.cut(Region.of(names))


def _refuse_place(figure: Path) -> None:
    """Raise the error of a picture that cannot be written, before anything is worked out."""
    if figure.suffix not in (".svg", ".html"):
        raise ScenarioError(f"--figure {str(figure)!r}: the name of the file must end in .svg or .html")
    problem = 0 if figure.parent.is_dir() else errno.ENOTDIR if figure.parent.exists() else errno.ENOENT
    if not problem and not os.access(figure if figure.exists() else figure.parent, os.W_OK):
        problem = errno.EACCES
    if problem:
        raise AndreaError(f"--figure {figure}: cannot be written: {os.strerror(problem)}")


def _staged(loaded: Any, wanted: str | None, at: int | None) -> dict[str, "Region"]:
    """Return the regions of the stages asked for, by name."""
    from andrea_core.plan import Plan
    from andrea_core.spelling import nearest

    plan = Plan.of(loaded)
    names = [one.name for one in plan.stages]
    if wanted is not None and wanted not in names:
        raise ScenarioError(f"no stage is called {wanted!r}{nearest(wanted, names)}")
    chosen = [one for one in plan.stages if wanted in (None, one.name) and (at is None or one.start <= at < one.until)]
    if not chosen:
        where = f"stage {wanted!r}" if wanted else f"the run, which has {loaded.scenario.run.steps} steps"
        raise ScenarioError(f"--at {at} is not in {where}")
    return {one.name: plan.region(one, at) for one in chosen}


def _print(regions: Mapping[str, "Region"]) -> None:
    from rich.console import Console
    from rich.text import Text

    from andrea_core.report.region_table import region_parts

    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    for name, made in regions.items():
        with console.capture() as held:
            for part in region_parts(name, made):
                console.print(part)
        lines = "\n".join(line.rstrip() for line in held.get().splitlines())
        console.print(Text.from_ansi(lines), end="\n\n", soft_wrap=True)


def _draw(file: Path, regions: Mapping[str, "Region"], groups: Mapping[str, tuple[str, ...]]) -> None:
    from andrea_core.report.region_shape import picture

    shown = picture(regions, groups)
    if file.suffix == ".svg":
        from andrea_core.report.region_svg import svg as write
    else:
        from andrea_core.report.region_html import html as write
    try:
        file.write_text(write(shown), encoding="utf-8")
    except OSError as error:
        raise AndreaError(f"--figure {file}: cannot be written: {error.strerror}") from error
    click.echo(f"figure  {file}" + (f" ({shown.why})" if shown.why else ""))
