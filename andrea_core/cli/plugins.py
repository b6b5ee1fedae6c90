"""`andrea plugins`: what is registered, with every setting; `andrea plugins new` begins one."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from andrea_core.plugins import Catalogue


@click.command()
@click.argument("words", nargs=-1, metavar="[NAME | new KIND NAME]")
@click.option("--plugin", "plugins_", multiple=True, metavar="FILE", help="Activate a plugin: a .py file or a name.")
def plugins(words: tuple[str, ...], plugins_: tuple[str, ...]) -> None:
    """List the registered components by kind; with NAME, show one's settings, traits and description.

    `andrea plugins new KIND NAME` writes NAME.py, a working plugin, and test_NAME.py here. KIND is source,
    curriculum, constraint, phases, policy, adjust, reward, probe or observer.
    """
    from andrea_core.plugins import Catalogue

    if words[:1] == ("new",):
        _new(words[1:])
        return
    if len(words) > 1:
        raise click.UsageError(f"give one NAME, or `new KIND NAME`; got {' '.join(words)}")
    name = words[0] if words else None
    catalogue = Catalogue.of(plugins_, folder=Path.cwd())
    if name is None:
        _list(catalogue)
    else:
        _describe(catalogue, name)


def _new(words: tuple[str, ...]) -> None:
    from andrea_core.cli.new import write_plugin

    if len(words) != 2:
        raise click.UsageError("give KIND and NAME, as in `andrea plugins new policy my_policy`")
    kind, name = words
    plugin, test = write_plugin(kind, name, Path.cwd())
    click.echo(
        f"wrote {plugin.name} and {test.name}; try `--plugin {plugin.name}`, and `pytest {test.name}`, which takes "
        "pytest and hypothesis (`pip install 'andrea[test]'`)"
    )


def _list(catalogue: "Catalogue") -> None:
    for kind, table in catalogue.table.items():
        click.secho(kind, bold=True)
        for registration in table.values():
            click.echo(f"  {registration.name:20} {summary(registration.cls)}")
    if catalogue.inactive:
        click.secho("installed, not active", bold=True)
        click.echo(f"  {', '.join(catalogue.inactive)}  (name one in a scenario's `plugins`, or use --plugin)")


def _describe(catalogue: "Catalogue", name: str) -> None:
    from andrea_core.errors import PluginError
    from andrea_core.spelling import nearest

    found = [table[name] for table in catalogue.table.values() if name in table]
    found += list(catalogue.table[name].values()) if name in catalogue.table else []
    if not found:
        names = {known for table in catalogue.table.values() for known in table} | set(catalogue.table)
        raise PluginError(f"no component is called {name!r}{nearest(name, names)}")
    for registration in found:
        click.secho(f"{registration.name} ({registration.kind}, from {registration.plugin})", bold=True)
        click.echo(_text(registration.cls))
        for line in settings(registration.cls) + _traits(registration.cls) + _beside(registration.kind):
            click.echo(f"  {line}")


def settings(cls: type, indent: str = "") -> list[str]:
    """Return a line for each setting of a class: its name, type and default; tables inside it follow, indented."""
    import attrs

    lines = []
    for field in attrs.fields(cls):
        lines.append(f"{indent}{field.alias}: {_type(field.type)}{_default(field)}")
        for inner in _tables(field.type):
            lines += settings(inner, indent + "  ")
    return lines


def _traits(cls: type) -> list[str]:
    """Return what a class declares of itself: reward range, staleness, pull model, unseen sources."""
    import attrs

    traits = getattr(cls, "traits", None)
    if traits is None or not attrs.has(type(traits)):
        return []  # a property: it depends on the settings
    return ["and it declares:", *(f"  {f.name}: {getattr(traits, f.name)!r}" for f in attrs.fields(type(traits)))]


def _beside(kind: str) -> list[str]:
    """Return the keys that the core reads from the same table: when a probe looks, how a policy's wish is landed."""
    import attrs

    from andrea_core.scenario import PolicySlot, ProbeSlot

    slot = {"probes": ProbeSlot, "policies": PolicySlot}.get(kind)
    if slot is None:
        return []
    own = [field for field in attrs.fields(slot) if field.name != "component"]
    return ["and beside them, read by the core:", *(f"  {f.alias}: {_type(f.type)}{_default(f)}" for f in own)]


def _tables(kind: Any) -> list[type]:
    """Return the settings classes that a type mentions: those of a list of stages, for example."""
    import attrs

    arguments = getattr(kind, "__args__", ())
    inside = [found for argument in arguments for found in _tables(argument)]
    return [*inside, kind] if isinstance(kind, type) and attrs.has(kind) else inside


def summary(cls: type) -> str:
    """Return the first line of a class's description."""
    return _text(cls).partition("\n")[0]


def _text(cls: type) -> str:
    import inspect

    return inspect.getdoc(cls) or ""


def _type(kind: Any) -> str:
    if isinstance(kind, type) and not hasattr(kind, "__args__"):
        return kind.__name__
    return re.sub(r"[a-z_]+(\.[a-z_0-9]+)*\.(?=[A-Z])", "", str(kind))  # the module is no help here


def _default(field: Any) -> str:
    import attrs

    if field.default is attrs.NOTHING:
        return " (required)"
    return "" if isinstance(field.default, attrs.Factory) else f" = {field.default!r}"  # type: ignore[arg-type]
