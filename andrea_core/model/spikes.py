"""The loss-spike guard: tells a step whose loss leaps above the running median, without waiting for the device."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from andrea_core.model.settings import SpikeSettings


class SpikeGuard:
    """The losses of the last `window` steps on the device, infinite where there is none yet."""

    def __init__(self, settings: SpikeSettings, device: torch.device) -> None:
        self._factor = settings.factor
        self._losses = torch.full((settings.window,), torch.inf, device=device)

    def judge(self, step: int, loss: Tensor) -> tuple[Tensor, Tensor]:
        """Return the median before the 0-based `step`, and 1.0 if its loss () is a spike, else 0.0; keep the loss.

        With an even number of losses the median is the lower of the middle two. It is infinite, and nothing a spike,
        until half the window is filled.
        """
        median = self._losses.median()
        spike = (loss <= self._factor * median).logical_not().float()  # a loss that is not a number is a spike
        self._losses[step % len(self._losses)] = loss.nan_to_num(nan=torch.inf)
        return median, spike

    def state(self) -> npt.NDArray[np.float32]:
        """Return the losses that are remembered."""
        return self._losses.cpu().numpy().copy()

    def load(self, state: Any) -> None:
        """Put back what `state` returned; losses of another window are forgotten."""
        if np.shape(state) == tuple(self._losses.shape):
            self._losses.copy_(torch.from_numpy(np.array(state, dtype=np.float32)))


def spike_text(step: int, loss: float, median: float, rows: str) -> str:
    """Return what the record says of a skipped step, counted from 1."""
    return f"{_spike(step, loss, median)}, its update is skipped; rows of that step: {rows}"


def rewind_text(step: int, loss: float, median: float, rows: str, *, back: int, until: int, count: int) -> str:
    """Return what the record says of a rewind: its first spike, counted from 1, and the `count` of rewinds there."""
    passed = f"the rows up to step {until} are passed over"
    return f"{_spike(step, loss, median)}, back to step {back}, {passed} (rewind {count}); rows of that step: {rows}"


def _spike(step: int, loss: float, median: float) -> str:
    times = f"{loss / median:.2f} times the median {median:.4f}" if np.isfinite(loss) else f"median {median:.4f}"
    return f"loss spike: step {step}, loss {loss:.4f} ({times})"
