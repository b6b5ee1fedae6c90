"""Max change: no weight moves by more than a given amount from one phase to the next."""

from typing import ClassVar

import attrs
import numpy as np

from andrea_core import AndreaError, Context, Region, positive

_ROUNDING = 2.0**-50


@attrs.frozen
class MaxChange:
    """Keep each weight within `delta` of the present one: a box around the present weights, cut with the region.

    Where a stage border redraws the region, the present weights are first projected onto it; so the box never leaves
    it empty, and a change that the other sets force is not held back. An unseen source is bounded like any other.
    Several weights may move at once: `trust_region` bounds them together.
    """

    delta: float = positive(at_most=1.0)
    around_weights: ClassVar[bool] = True

    def restrict(self, region: Region, context: Context) -> Region:
        """Return the region's part inside the box; raises AndreaError for a context without weights."""
        if context.weights is None:
            raise AndreaError("max_change needs the present weights; apply it after the sets that do not")
        if region.is_point:
            return region  # further bounds could only move the last bits of the one point there is
        floors = np.maximum(context.weights - self.delta, 0.0)
        floors[floors < _ROUNDING] = 0.0  # a weight of about delta: what is left is rounding, no floor
        caps = np.minimum(context.weights + self.delta, 1.0)
        return region.restrict(
            floors=dict(zip(region.names, floors.tolist(), strict=True)),
            caps=dict(zip(region.names, caps.tolist(), strict=True)),
            reason=f"within {self.delta:g} of the present weights",
        )
