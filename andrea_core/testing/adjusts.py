"""The conformance check of adjustments: they return weights again, and feed nothing that is excluded."""

from collections.abc import Sequence

import numpy as np

from andrea_core.contracts import Adjust
from andrea_core.testing.calls import call, check_settings, check_weights, fail
from andrea_core.testing.worlds import NAMES, draw_region, frozen, make_moment, make_sources


def check_adjust(adjust: Adjust, names: Sequence[str] = NAMES, tries: int = 50, seed: int = 0) -> None:
    """Raise AssertionError, saying why, unless random wishes in random regions come back as weights that sum to 1.

    Checked too: the wish is not written to, and equal inputs give equal bits.
    """
    check_settings(adjust, "adjust")
    rng = np.random.default_rng(seed)
    sources = make_sources(names)
    for phase in range(tries):
        region = draw_region(names, rng)
        moment = make_moment(sources, phase, region, region.sample(rng), rng)
        wish = np.where(moment.active, rng.dirichlet(np.full(len(sources), 0.5)) + 1e-9, 0.0)
        wish = frozen(wish / wish.sum())
        first, second = (call(adjust, "adjust", wish, moment) for _ in range(2))
        weights = check_weights(adjust, "adjust", first, sources.names, moment.active)
        if abs(weights.sum() - 1.0) > 1e-9:
            fail(adjust, "adjust", f"the weights sum to {weights.sum()}; divide them by their sum")
        if weights.tobytes() != np.asarray(second, dtype=np.float64).tobytes():
            fail(adjust, "adjust", "equal inputs gave other weights; use no randomness and no memory")
