"""An off-policy replay for the terminal: a row a source, and what the two walks are like on the whole."""

import numpy as np

from andrea_core.report.columns import Column, TextTable
from andrea_core.report.terminal import number, percent
from andrea_core.runs.replay.walk import Walk, effective, entropy


def walk_table(walk: Walk) -> TextTable:
    """Return a row a source: the mean of its recorded and replayed weight over the steps, and the largest of each."""
    columns = []
    for kind, weights in (("recorded", walk.recorded), ("replayed", walk.weights)):
        for word, values in (("mean", walk.mean(weights)), ("largest", weights.max(axis=0))):
            columns.append(Column(f"{kind} {word}", [percent(float(value)) for value in values]))
    apart = [number(100 * float(value), 1) for value in walk.mean(walk.weights) - walk.mean(walk.recorded)]
    return TextTable(Column("source", walk.sources), [*columns, Column("mean apart", apart)], "Weights in %.")


def summary(walk: Walk) -> list[str]:
    """Return how far apart the walks are and how spread out each is, as sentences."""
    far = int(np.argmax(walk.distance))
    spread = [
        f"{kind}: entropy {walk.mean(entropy(weights)):.3f} nats, {walk.mean(effective(weights)):.2f} effective sources"
        for kind, weights in (("recorded", walk.recorded), ("replayed", walk.weights))
    ]
    return [
        f"distance (total variation): {walk.mean(walk.distance):.4f} on average, {walk.distance[far]:.4f} at most, "
        f"in phase {far} (step {int(walk.start[far])})",
        *spread,
    ]
