"""Built-in observers: jsonl, tensorboard, tracker."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.observers.jsonl import Jsonl
from andrea_plugins.observers.tensorboard import TensorBoard
from andrea_plugins.observers.tracker import Tracker

__all__ = ["Jsonl", "TensorBoard", "Tracker"]


@hookimpl
def andrea_observers() -> Mapping[str, type]:
    """Return the observers by the names that scenarios use."""
    return {"jsonl": Jsonl, "tensorboard": TensorBoard, "tracker": Tracker}
