"""Built-in curricula: staged, static."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.curricula.staged import Staged, StageSpec
from andrea_plugins.curricula.static import Static

__all__ = ["StageSpec", "Staged", "Static"]


@hookimpl
def andrea_curricula() -> Mapping[str, type]:
    """Return the curricula by the names that scenarios use."""
    return {"staged": Staged, "static": Static}
