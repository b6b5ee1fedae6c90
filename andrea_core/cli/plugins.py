"""`andrea plugins`: what is registered, with every setting."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from andrea_core.plugins import Catalogue, Registration


@click.command()
@click.argument("name", required=False)
@click.option("--plugin", "plugins_", multiple=True, metavar="FILE", help="Activate a plugin: a .py file or a name.")
def plugins(name: str | None, plugins_: tuple[str, ...]) -> None:
    """List the registered components by kind; with NAME, show one's settings and description."""
    from andrea_core.plugins import Catalogue

    catalogue = Catalogue.of(plugins_, folder=Path.cwd())
    if name is None:
        _list(catalogue)
    else:
        _describe(catalogue, name)


def _list(catalogue: "Catalogue") -> None:
    for kind, table in catalogue.table.items():
        click.secho(kind, bold=True)
        for registration in table.values():
            click.echo(f"  {registration.name:20} {summary(registration.cls)}")
    if catalogue.inactive:
        click.secho("installed, not active", bold=True)
        click.echo(f"  {', '.join(catalogue.inactive)}  (name one in a scenario's `plugins`, or use --plugin)")


def _describe(catalogue: "Catalogue", name: str) -> None:
    import inspect

    from andrea_core.errors import PluginError
    from andrea_core.spelling import nearest

    found = [table[name] for table in catalogue.table.values() if name in table]
    if not found:
        names = [known for table in catalogue.table.values() for known in table]
        raise PluginError(f"no component is called {name!r}{nearest(name, names)}")
    for registration in found:
        click.secho(f"{registration.name} ({registration.kind}, from {registration.plugin})", bold=True)
        click.echo(inspect.getdoc(registration.cls) or "")
        for line in settings(registration):
            click.echo(f"  {line}")


def settings(registration: "Registration") -> list[str]:
    """Return a line for each setting of a component: its name, type and default."""
    import attrs

    return [f"{field.alias}: {_type(field.type)}{_default(field)}" for field in attrs.fields(registration.cls)]


def summary(cls: type) -> str:
    """Return the first line of a class's description."""
    import inspect

    return (inspect.getdoc(cls) or "").partition("\n")[0]


def _type(kind: Any) -> str:
    return (
        kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind).replace("typing.", "")
    )


def _default(field: Any) -> str:
    import attrs

    if field.default is attrs.NOTHING:
        return " (required)"
    return "" if isinstance(field.default, attrs.Factory) else f" = {field.default!r}"  # type: ignore[arg-type]
