"""What a step minimises: the mean cross-entropy, rows weighted and a z-loss added on request."""

from collections.abc import Iterator

from torch import Tensor

Part = tuple[Tensor, Tensor, Tensor | None]


def objective(losses_BT: Tensor, log_z_BT: Tensor | None, weights_B: Tensor | None, z_loss: float) -> Tensor:
    """Return the mean over tokens of w (loss + z_loss log^2 Z), with w = 1 where rows have no weights.

    The z-loss (Chowdhery et al. 2022) keeps log Z near 0; `log_z_BT` is None without it.
    """
    if log_z_BT is not None:
        losses_BT = losses_BT + z_loss * log_z_BT.square()
    if weights_B is not None:
        losses_BT = losses_BT * weights_B[:, None]
    return losses_BT.mean()


def parts(inputs: Tensor, targets: Tensor, weights_B: Tensor | None, at_once: int) -> Iterator[Part]:
    """Yield a step's rows in parts of `at_once` rows, the last with what is left."""
    if at_once >= len(inputs):
        yield inputs, targets, weights_B
        return
    for start in range(0, len(inputs), at_once):
        part = slice(start, start + at_once)
        yield inputs[part], targets[part], None if weights_B is None else weights_B[part]


def mean_one(weights_B: Tensor) -> Tensor:
    """Return weights (B,) scaled to mean 1, so that they change no step's size but what it listens to."""
    return weights_B / weights_B.mean()
