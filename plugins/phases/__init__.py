"""Built-in phase lengths: uniform, fixed."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.phases.fixed import Fixed
from andrea_plugins.phases.uniform import Uniform

__all__ = ["Fixed", "Uniform"]


@hookimpl
def andrea_phases() -> Mapping[str, type]:
    """Return the phase lengths by the names that scenarios use."""
    return {"uniform": Uniform, "fixed": Fixed}
