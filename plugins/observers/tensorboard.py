"""TensorBoard: each finished phase as scalars in the run folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from andrea_core import AndreaError, Sources
from andrea_plugins.observers.scalars import end_of, scalars


@attrs.define(eq=False)
class Board:
    """An open log: the folder, and the writer once a first phase has said at which step it starts."""

    folder: Path
    writer: Any = None


@attrs.frozen
class TensorBoard:
    """Write loss, learning rate, weights, rewards and tokens of each phase to `folder` in the run folder.

    Look at it with `tensorboard --logdir RUN/tensorboard`. A resumed run hides the phases that it repeats. Needs the
    package `tensorboard` (`pip install andrea[tracking]`).
    """

    folder: str = "tensorboard"

    def open(self, folder: str, sources: Sources) -> Board:
        """Return the log. Raises AndreaError when the package is missing."""
        try:
            import tensorboard  # noqa: F401 - the writer in PyTorch needs it
        except ModuleNotFoundError:
            raise AndreaError(
                "the observer tensorboard needs the package `tensorboard`; run `pip install andrea[tracking]`"
            ) from None
        return Board(Path(folder) / self.folder)

    def phase(self, handle: Board, record: Mapping[str, Any]) -> None:
        """Add the phase's numbers at the step of its end."""
        if handle.writer is None:
            from torch.utils.tensorboard import SummaryWriter

            handle.writer = SummaryWriter(str(handle.folder), purge_step=end_of(record))
        for name, value in scalars(record):
            handle.writer.add_scalar(name, value, end_of(record))

    def close(self, handle: Board) -> None:
        """Write what is left and close."""
        if handle.writer is not None:
            handle.writer.close()
