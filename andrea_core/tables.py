"""Names and tables that settings give by source, checked against the sources of the experiment."""

from collections.abc import Iterable, Mapping

import numpy as np

from andrea_core.errors import ScenarioError
from andrea_core.spelling import nearest
from andrea_core.values import Sources, Vector


def check_sources(names: Iterable[str], sources: Sources, where: str) -> None:
    """Raise ScenarioError, with the nearest spelling, when a name is no source; `where` names the setting."""
    for name in names:
        if name not in sources.names:
            raise ScenarioError(f"{where}: no source is called {name!r}{nearest(name, sources.names)}")


def by_source(table: Mapping[str, float], sources: Sources, where: str) -> Vector:
    """Return the table's numbers as a vector (K,), 0 for the sources that it leaves out.

    Raises ScenarioError, with the nearest spelling, for a name that is no source; `where` names the setting.
    """
    check_sources(table, sources, where)
    return np.array([table.get(name, 0.0) for name in sources.names], dtype=np.float64)
