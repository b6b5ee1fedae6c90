"""Built-in constraint sets: floors, caps, exclude."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.constraints.caps import Caps
from andrea_plugins.constraints.exclude import Exclude
from andrea_plugins.constraints.floors import Floors

__all__ = ["Caps", "Exclude", "Floors"]


@hookimpl
def andrea_constraints() -> Mapping[str, type]:
    """Return the constraint sets by the names that scenarios use."""
    return {"floors": Floors, "caps": Caps, "exclude": Exclude}
