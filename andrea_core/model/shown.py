"""What the steps of a phase showed: kept on the device until asked for, of one rank or gathered from all."""

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from andrea_core.model.ranks import Ranks


@attrs.frozen(eq=False)
class PhaseLosses:
    """What the steps of a phase showed, one entry a step.

    `row_loss` (steps, rows) holds each row's summed loss in nats, `loss` (steps,) the mean in nats a token over all
    rows, `grad_norm` (steps,) the global L2 norm of the gradients before clipping, `lr` (steps,) the learning rate.
    `loss_after` (steps, rows) is like `row_loss`, right after the step's own update; None unless it was asked for.
    With a spike guard, `median` (steps,) is the running median before the step, and `skipped` (steps,) says whether its
    update was left out; None without.
    """

    row_loss: npt.NDArray[np.float64]
    loss: npt.NDArray[np.float32]
    grad_norm: npt.NDArray[np.float32]
    lr: npt.NDArray[np.float64]
    loss_after: npt.NDArray[np.float64] | None = None
    median: npt.NDArray[np.float32] | None = None
    skipped: npt.NDArray[np.bool_] | None = None


class Shown:
    """One tensor on the device with a line a step, so that a phase costs one copy to the host.

    A line holds this rank's rows, with `after` the same rows' losses after the update, and the means of the step: loss,
    gradient norm, and with `guarded` the median and whether the step was skipped. `table` is the same for all rows.
    """

    def __init__(self, rows: int, device: torch.device, ranks: Ranks, *, after: bool, guarded: bool) -> None:
        self.rows, self.after, self.guarded = rows, after, guarded
        self.filled = 0
        self._ranks, self._own, self._device = ranks, ranks.rows(rows), device
        self._kinds, self._means = 2 if after else 1, 4 if guarded else 2
        self._own_columns, self._columns = rows // ranks.size * self._kinds, rows * self._kinds + self._means
        self._lines = self._blank(1)

    def begin(self, most: int) -> None:
        """Forget everything, and make room for `most` steps; more only cost a copy."""
        self.filled = 0
        if most > len(self._lines):
            self._lines = self._blank(most)

    def add(self, losses_BT: Tensor, means: Sequence[Tensor]) -> None:
        """Take a step's losses (B, T) and means, without waiting for the device."""
        if self.filled == len(self._lines):
            self._lines = torch.cat([self._lines, self._blank(len(self._lines))])
        line, first = self._lines[self.filled], self._own_columns
        torch.sum(losses_BT, 1, out=line[: len(losses_BT)])
        for column, mean in enumerate(means, first):
            line[column] = mean
        self.filled += 1

    def add_after(self, losses_B: Tensor) -> None:
        """Take the losses (B,) of the last step's rows after its update."""
        self._lines[self.filled - 1][self._own_columns // 2 : self._own_columns] = losses_B

    def table(self) -> npt.NDArray[Any]:
        """Return the lines so far (steps, columns) with the rows of all ranks, in their order in the step."""
        lines = self._lines[: self.filled]
        if self._ranks.size == 1 or not self.filled:
            return lines.cpu().numpy() if self._ranks.size == 1 else np.zeros((0, self._columns), np.float32)
        each = self._ranks.gathered(lines).cpu().numpy()  # (ranks, steps, columns)
        kinds = np.split(each[..., : self._own_columns], self._kinds, axis=-1)
        rows = [np.concatenate(list(kind), axis=1) for kind in kinds]
        loss = each[..., self._own_columns].mean(0, dtype=np.float64, keepdims=True).astype(each.dtype)
        return np.concatenate([*rows, loss.T, each[0, :, self._own_columns + 1 :]], axis=1)

    def load(self, table: Any) -> None:
        """Go on from what `table` returned, whatever the number of ranks was."""
        whole = np.asarray(table).reshape(-1, self._columns)
        kinds = [whole[:, kind * self.rows :][:, self._own] for kind in range(self._kinds)]
        lines = np.concatenate([*kinds, whole[:, self._columns - self._means :]], axis=1)
        self.begin(len(lines))
        self._lines[: len(lines)] = torch.from_numpy(lines.copy())
        self.filled = len(lines)

    def losses(self, rates: Sequence[float]) -> PhaseLosses:
        """Return what was shown so far with the learning rates used; values that are not finite stay so."""
        table = self.table()
        means = table[:, self._columns - self._means :]
        after = table[:, self.rows : 2 * self.rows].astype(np.float64) if self.after else None
        return PhaseLosses(
            row_loss=table[:, : self.rows].astype(np.float64),
            loss=means[:, 0].copy(),
            grad_norm=means[:, 1].copy(),
            lr=np.array(rates, dtype=np.float64),
            loss_after=after,
            median=means[:, 2].copy() if self.guarded else None,
            skipped=means[:, 3] > 0 if self.guarded else None,
        )

    def _blank(self, steps: int) -> Tensor:
        return torch.zeros(steps, self._own_columns + self._means, device=self._device)
