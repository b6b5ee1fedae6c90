"""Which checkpoints stay, and why: the first, the newest, every n-th, the best by held-out loss."""

from collections.abc import Mapping, Sequence

import attrs


@attrs.frozen
class Keep:
    """What is kept of a run's checkpoints: the one of step `first`, and the newest `last` good ones.

    `every`: also those whose step is a multiple of it. `best`: also the one with the lowest held-out loss.
    """

    last: int
    every: int | None = None
    best: bool = False
    first: int = 0

    def reasons(self, good: Sequence[int], scores: Mapping[int, float]) -> dict[int, tuple[str, ...]]:
        """Return why each of the good checkpoints (steps, ascending) stays; those that may go have no reason.

        `scores` holds the held-out loss of those whose model was measured.
        """
        found: dict[int, list[str]] = {step: [] for step in good}
        if self.first in found:
            found[self.first].append("first")
        for step in good[-self.last :]:
            found[step].append("recent")
        for step in good if self.every else ():
            if step and step % (self.every or 1) == 0:
                found[step].append(f"every {self.every} steps")
        measured = [step for step in good if step in scores]
        if self.best and measured:
            best = min(measured, key=lambda step: (scores[step], step))
            found[best].append(f"best: held-out {scores[best]:.4f} bits a byte")
        return {step: tuple(why) for step, why in found.items()}
