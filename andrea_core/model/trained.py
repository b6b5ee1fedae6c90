"""The rows that a finished phase trained: loss, source and place of each, and any row's tokens again."""

from collections.abc import Callable

import attrs

from andrea_core.values import Integers, Vector


@attrs.frozen(eq=False)
class Trained:
    """What the steps of the phase before a look showed; all arrays are (steps, rows).

    `loss` is each row's mean in nats a token before its own update, `source` the number of its source, `position` which
    of that source's rows it is. `row` gives the (context + 1,) tokens of any row of a source, also of earlier phases.
    """

    start: int
    """Finished steps before the phase: row i of the arrays is the step that made them start + i + 1."""
    loss: Vector
    source: Integers
    position: Integers
    row: Callable[[int, int], Integers]
