"""`andrea probe`: let probes look at a run's stored checkpoints; the run itself is not touched."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from andrea_core.cli.arguments import THREADS, note

if TYPE_CHECKING:
    from andrea_core.runs.probing import Look, Probing
    from andrea_core.values import Measurement

_PATH = click.Path(path_type=Path)


class _Steps(click.ParamType):  # type: ignore[type-arg]
    """Steps with commas between them, or `all`."""

    name = "steps"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the steps, or None for all."""
        if value == "all" or isinstance(value, tuple):
            return value
        words = str(value).split(",")
        if not all(word.strip().isascii() and word.strip().isdigit() for word in words):
            self.fail(f"{value!r} is no step; write whole numbers, 100,200, or all", param, ctx)
        return tuple(int(word) for word in words)


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--at", "steps", multiple=True, type=_Steps(), metavar="STEP", help="Checkpoints, or all (default: the newest)."
)
@click.option("--probes", "names", multiple=True, metavar="A,B", help="Which probes (default: all of the run's own).")
@click.option("--set", "settings", multiple=True, metavar="NAME.KEY=VALUE", help="Set one key of a probe.")
@click.option("--plugin", "plugins", multiple=True, metavar="FILE", help="Activate a plugin: a .py file or a name.")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda", "mps"]), default="cpu", show_default=True)
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads (default: PyTorch's choice).")
@click.option("--out", type=_PATH, metavar="DIR", help="Write a record of its own, which `open_run` reads.")
@click.option("--figure", type=_PATH, metavar="FILE", help="Draw what was measured over the steps, as one HTML page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def probe(
    folder: Path,
    steps: Sequence[Any],
    names: Sequence[str],
    settings: tuple[str, ...],
    plugins: tuple[str, ...],
    device: str,
    threads: int | None,
    out: Path | None,
    figure: Path | None,
    as_json: bool,
) -> None:
    """Let probes look at checkpoints of RUN, a run's folder, and print what they measure.

    Probes are named as in the run's record, and then have its settings; any other probe has its default settings.
    """
    from andrea_core.runs.probing import Probing
    from andrea_core.runs.probing_record import kept

    _refuse_places(folder, out, figure)
    asked = [step for group in steps if group != "all" for step in group]
    probing = Probing.of(
        folder,
        asked or None,
        _names(names),
        settings,
        plugins,
        note,
        everywhere="all" in steps,
        device=device,
        threads=threads,
    )
    looks, fault = _looked(probing, as_json=as_json)
    if looks:
        kept(probing, looks, out, figure)
    _refuse_less(probing, looks, fault)


def _names(words: Sequence[str]) -> list[str]:
    from andrea_core.errors import ScenarioError

    names = [name.strip() for word in words for name in word.split(",") if name.strip()]
    if words and not names:
        raise ScenarioError("--probes names no probe; name some, or leave it out for all of the run's own")
    return names


def _refuse_places(folder: Path, out: Path | None, figure: Path | None) -> None:
    """Raise an AndreaError for places that cannot be written to, or that belong to the run that is looked at."""
    from andrea_core.errors import ScenarioError
    from andrea_core.runs.probing_record import refuse_inside, refuse_other_things

    if out is not None:
        refuse_inside(folder, out, "--out")
        refuse_other_things(out)
    if figure is None:
        return
    if figure.suffix != ".html" or figure.is_dir() or not figure.absolute().parent.is_dir():
        raise ScenarioError(f"--figure {str(figure)!r}: name a file that ends in .html, in a folder that exists")
    refuse_inside(folder, figure, "--figure")


def _looked(probing: "Probing", *, as_json: bool) -> "tuple[list[Look], BaseException | None]":
    """Look, and print each checkpoint's table as it comes; JSON when all are done. What stops it comes back, too."""
    from andrea_core.errors import AndreaError

    looks, fault = [], None
    try:
        for look in probing.looks():
            looks.append(look)
            if not as_json:
                click.echo("\n".join(table(look)))
    except (AndreaError, KeyboardInterrupt) as error:
        fault = error
    if as_json and (looks or fault is None):
        click.echo(_as_json(looks))
    return looks, fault


def _refuse_less(probing: "Probing", looks: "Sequence[Look]", fault: BaseException | None) -> None:
    """Raise what went wrong, and say at which checkpoints the probes have looked all the same, and at which not."""
    from andrea_core.errors import RunError

    done = [look.step for look in looks]
    left = [step for step in probing.steps if step not in done]
    if not left:
        return
    if isinstance(fault, KeyboardInterrupt) and not done:
        raise fault
    why = [*probing.damaged.values(), *([str(fault) or "stopped by the user"] if fault is not None else [])]
    if not done and len(left) == 1:
        raise RunError("; ".join(why)) from fault
    steps, rest = (", ".join(map(str, some)) or "none" for some in (done, left))
    raise RunError(f"looked at the checkpoints of steps: {steps}; not at: {rest}: {'; '.join(why)}") from fault


def table(look: "Look") -> list[str]:
    """Return a line for each number that was measured in a checkpoint, and one for what each probe cost."""
    lines = [f"step {look.step}" + (f", stage {look.stage}" if look.stage else "")]
    rows = [
        (f"{name}.{key}", shown(one), one.status)
        for name, measured in look.findings.measured.items()
        for key, one in measured.items()
    ]
    width = max(len(name) for name, _, _ in rows) if rows else 0
    lines += [
        f"  {name:{width}}  {value}" + ("" if status == "ok" else f"  [{status}]") for name, value, status in rows
    ]
    for name, cost in look.findings.costs.items():
        counted = ((cost.losses, "loss", "losses"), (cost.gradients, "gradient", "gradients"))
        words = [f"{n} {one if n == 1 else many}" for n, one, many in counted if n]
        words += [f"{cost.products} Hessian-vector product{'' if cost.products == 1 else 's'}"] if cost.products else []
        lines.append(f"  {name} took {', '.join([f'{cost.seconds:.2f} s', *words])}")
    return lines


def shown(one: "Measurement") -> str:
    """Return a measurement in words: a number, the mean and the range of several, the beginning of a text."""
    import numpy as np

    if isinstance(one.value, str):
        text = one.value.replace("\n", " ")
        return repr(text if len(text) <= 60 else f"{text[:59]}…")
    values = np.asarray(one.value, np.float64)
    if not values.ndim:
        return f"{float(values):.6g}"
    known = values[np.isfinite(values)]
    over = " x ".join(f"{n} {axis}" for n, axis in zip(values.shape, one.axes or ("source",), strict=False))
    if not known.size:
        return f"nothing finite ({over})"
    return f"{known.mean():.6g}, {known.min():.6g} to {known.max():.6g} ({over})"


def _as_json(looks: "Sequence[Look]") -> str:
    import json

    import attrs

    found = []
    for look in looks:
        measured = {
            name: {key: {"value": _plain(one.value), "status": one.status} for key, one in found_.items()}
            for name, found_ in look.findings.measured.items()
        }
        costs = {name: attrs.asdict(cost) for name, cost in look.findings.costs.items()}
        found.append({"step": look.step, "stage": look.stage, "measured": measured, "costs": costs})
    return json.dumps(found, indent=1, allow_nan=False)


def _plain(value: Any) -> Any:
    """Return a value that JSON has: null for a number that is not finite."""
    import numpy as np

    if isinstance(value, str):
        return value
    values = np.asarray(value, np.float64)
    plain = values.astype(object)
    plain[~np.isfinite(values)] = None
    return plain.tolist()
