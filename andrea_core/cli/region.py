"""`andrea region`: the part of the simplex that bounds leave, a scenario's or any, in numbers and a picture."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from andrea_core.cli.running import load_scenario, shaping_options
from andrea_core.errors import AndreaError, InfeasibleRegion, ScenarioError

if TYPE_CHECKING:
    from andrea_core.simplex import Region


@attrs.frozen
class Extra:
    """Bounds given on the command line."""

    floors: Mapping[str, float]
    caps: Mapping[str, float]
    exclude: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    sums: Mapping[str, tuple[float, float]]

    def cut(self, region: "Region") -> "Region":
        """Return the region's part inside the bounds, each with the option as its reason."""
        from andrea_core.simplex.groups.stated import Group

        region = region.restrict(floors=self.floors, reason="--floors").restrict(caps=self.caps, reason="--caps")
        region = region.restrict(exclude=self.exclude, reason="--exclude")
        bounded = [Group(self.groups[label], low, high) for label, (low, high) in self.sums.items()]
        return region.restrict(groups=bounded, reason="--group") if bounded else region


@click.command()
@click.argument("scenario", required=False, type=click.Path(path_type=Path))
@shaping_options
@click.option("--stage", metavar="NAME", help="Only this stage of SCENARIO (default: all of them).")
@click.option("--at", type=click.IntRange(min=0), metavar="STEP", help="As of this step: bounds may move with time.")
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
    help="Draw it: FILE.svg (to print or embed) or FILE.html (interactive). Three open sources, or three groups, "
    "make a triangle; all else parallel coordinates of uniform draws.",
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
    if figure is not None and figure.suffix not in (".svg", ".html"):
        raise ScenarioError(f"--figure {figure}: the name must end in .svg or .html")
    extra = Extra(
        _numbers("--floors", floors),
        _numbers("--caps", caps),
        tuple(_words(exclude)),
        *_groups(group),
    )
    if scenario is None:
        regions = {"region": extra.cut(_free(sources, stage, at))}
    else:
        if sources is not None:
            raise ScenarioError("--sources goes without SCENARIO: the scenario has its own")
        staged = _staged(load_scenario(scenario, **options), stage, at)
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


def _free(sources: str | None, stage: str | None, at: int | None) -> "Region":
    from andrea_core.cli.corpus import bundled_readers
    from andrea_core.simplex import Region

    for option, given in (("--stage", stage), ("--at", at)):
        if given is not None:
            raise ScenarioError(f"{option} needs a SCENARIO")
    return Region.of(tuple(_words([sources])) if sources is not None else tuple(bundled_readers()))


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

    from andrea_core.report.region_table import region_parts

    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    for name, made in regions.items():
        for part in region_parts(name, made):
            console.print(part)
        console.print()


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
    click.echo(f"figure  {file}")


def _words(texts: Iterable[str]) -> list[str]:
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def _numbers(option: str, texts: Iterable[str]) -> dict[str, float]:
    """Return the table that `source=number` pairs give; raises ScenarioError for what is none, or one given twice."""
    found: dict[str, float] = {}
    for word in _words(texts):
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ScenarioError(f"{option} {word}: must be SOURCE=NUMBER, for example {option} chat=0.25")
        if name in found:
            raise ScenarioError(f"{option}: source {name!r} is given twice")
        found[name] = _number(f"{option} {word}", value)
    return found


def _number(where: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ScenarioError(f"{where}: {text!r} is not a number") from None


def _groups(texts: Iterable[str]) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[float, float]]]:
    """Return the members of each group by its name, and the bounds of those that have any."""
    members: dict[str, tuple[str, ...]] = {}
    bounds: dict[str, tuple[float, float]] = {}
    for text in texts:
        label, equals, rest = text.partition("=")
        names, colon, limits = rest.partition(":")
        if not equals or not label or not names:
            raise ScenarioError(f"--group {text}: must be NAME=A+B or NAME=A+B:L..U, for example talk=chat+irc:0.5..1")
        members[label] = tuple(name.strip() for name in names.split("+") if name.strip())
        if colon:
            low, dots, high = limits.partition("..")
            if not dots:
                raise ScenarioError(f"--group {text}: bounds must be L..U, for example 0.5..1")
            bounds[label] = (_number(f"--group {text}", low or "0"), _number(f"--group {text}", high or "1"))
    return members, bounds
