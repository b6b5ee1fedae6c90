"""Whether a level shift is one of the source or of a document: the entries since it are asked document by document."""

import numpy as np

from andrea_core import Integers, Trained, Vector
from andrea_plugins.probes.cliff_series import Departure

PASSAGE = 64
"""Rows of a document after which it counts as another one."""
FEWEST = 4
"""Documents that must have been seen since a shift before it can be called one of the source."""


def documents(trained: Trained, source: int, positions: Integers, separator: int) -> Integers:
    """Return which document stands in the middle of each row (n,) of a source, numbered from the first row on.

    `positions` (n,) are ascending. A document of more than 64 rows is cut into passages of 64.
    """
    first, last = int(positions[0]), int(positions[-1])
    rows = np.stack([trained.row(source, position)[:-1] for position in range(first, last + 1)]) == separator
    begun = np.cumsum(rows.sum(1)) - rows[:, rows.shape[1] // 2 :].sum(1)
    _, starts, number = np.unique(begun, return_index=True, return_inverse=True)
    inside = np.arange(len(rows)) - starts[number]
    _, passage = np.unique(np.stack([number, inside // PASSAGE]), axis=1, return_inverse=True)
    return np.asarray(passage.reshape(-1)[positions - first])


def persists(event: Departure, losses: Vector, document: Integers) -> bool | None:
    """Return whether most documents since a shift lie past its half way; None while fewer than four were seen.

    Args:
        event: the shift.
        losses: (n,) of the entries from its first one on, in nats a token.
        document: (n,) the number of each entry's document; its entries' mean loss is what counts.
    """
    means = np.bincount(document, losses) / np.maximum(np.bincount(document), 1)
    means = means[np.unique(document)]
    return bool(event.beyond(means).sum() > len(means) / 2) if len(means) >= FEWEST else None
