"""An observer that leaves no trace in the process: generators and settings are put back after each call."""

from collections.abc import Mapping
from typing import Any

import attrs

from andrea_core.contracts import Observer
from andrea_core.model.untouched import standing_by
from andrea_core.values import Sources


@attrs.frozen(eq=False)
class Bystander:
    """An observer that stands by; its errors pass."""

    observer: Observer

    def open(self, folder: str, sources: Sources) -> Any:
        """Let the observer open what it writes to."""
        with standing_by():
            return self.observer.open(folder, sources)

    def phase(self, handle: Any, record: Mapping[str, Any]) -> None:
        """Tell the observer of a finished phase."""
        with standing_by():
            self.observer.phase(handle, record)

    def close(self, handle: Any) -> None:
        """Let the observer go."""
        with standing_by():
            self.observer.close(handle)
