"""Fixed: every phase has the same number of steps."""

import attrs
import numpy as np

from andrea_core import Context, number


@attrs.frozen
class Fixed:
    """Let each phase last `steps` steps; a stage border may cut one. A scenario's `scale` leaves the number alone."""

    steps: int = number(at_least=1)

    def length(self, context: Context, rng: np.random.Generator) -> int:
        """Return the number of steps of the next phase."""
        return self.steps
