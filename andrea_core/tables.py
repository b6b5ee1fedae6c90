"""Names and tables that settings give by source, found in a tree of settings and checked against the sources."""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import numpy as np

from andrea_core.errors import ScenarioError
from andrea_core.fields import SOURCES
from andrea_core.spelling import nearest
from andrea_core.values import Sources, Vector


def check_sources(names: Iterable[str], sources: Sources, where: str) -> None:
    """Raise ScenarioError, with the nearest spelling, when a name is no source; `where` names the setting."""
    known = frozenset(sources.names)
    for name in names:
        if name not in known:
            raise ScenarioError(f"{where}: no source is called {name!r}{nearest(name, sources.names)}")


def by_source(table: Mapping[str, float], sources: Sources, where: str) -> Vector:
    """Return the table's numbers as a vector (K,), 0 for the sources that it leaves out.

    Raises ScenarioError, with the nearest spelling, for a name that is no source; `where` names the setting.
    """
    check_sources(table, sources, where)
    return np.array([table.get(name, 0.0) for name in sources.names], dtype=np.float64)


def named_sources(value: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """Return (place, name) of every source that a tree of settings names, in fields made by the field helpers."""
    if isinstance(value, tuple):
        return [found for i, item in enumerate(value) for found in named_sources(item, (*path, f"[{i}]"))]
    if not attrs.has(type(value)):
        return []
    found = []
    for field in attrs.fields(type(value)):
        held, place = getattr(value, field.name), (*path, field.name)
        if field.metadata.get(SOURCES):
            found += [((*place, name), name) for name in held or ()]
        else:
            found += named_sources(held, path if field.name == "component" else place)
    return found
