"""Tracker: each finished phase to trackio, Weights & Biases, or any module with `init`, `log` and `finish`."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs

from andrea_core import AndreaError, Sources
from andrea_plugins.observers.scalars import end_of, scalars


@attrs.frozen
class Tracker:
    """Log loss, learning rate, weights, rewards and tokens of each phase to a tracker's project.

    `module` is what is imported: "trackio" keeps everything on this machine, "wandb" has the same three functions. The
    run is named after its folder and taken up again under that name when it is resumed.
    """

    project: str = "andrea"
    module: str = "trackio"

    def open(self, folder: str, sources: Sources) -> Any:
        """Return the module with a run begun. Raises AndreaError when it is missing or is no tracker."""
        try:
            tracker = import_module(self.module)
        except ModuleNotFoundError as error:
            raise AndreaError(
                f"the observer tracker needs the package `{self.module}` ({error}); install it, or name another"
            ) from None
        lacking = [name for name in ("init", "log", "finish") if not callable(getattr(tracker, name, None))]
        if lacking:
            raise AndreaError(f"the observer tracker: `{self.module}` has no {', '.join(lacking)}; name a tracker")
        tracker.init(project=self.project, name=Path(folder).resolve().name, resume="allow")
        return tracker

    def phase(self, handle: Any, record: Mapping[str, Any]) -> None:
        """Log the phase's numbers at the step of its end."""
        handle.log(dict(scalars(record)), step=end_of(record))

    def close(self, handle: Any) -> None:
        """End the tracker's run."""
        handle.finish()
