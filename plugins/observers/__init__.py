"""Built-in observers: jsonl."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.observers.jsonl import Jsonl

__all__ = ["Jsonl"]


@hookimpl
def andrea_observers() -> Mapping[str, type]:
    """Return the observers by the names that scenarios use."""
    return {"jsonl": Jsonl}
