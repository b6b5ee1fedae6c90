"""The conformance check of phase lengths: whole numbers of at least one step, from the given generator."""

from collections.abc import Sequence

import numpy as np

from andrea_core.contracts import Phases
from andrea_core.testing.calls import call, check_settings, fail
from andrea_core.testing.worlds import NAMES, make_context, make_sources


def check_phases(phases: Phases, names: Sequence[str] = NAMES, tries: int = 100, seed: int = 0) -> None:
    """Raise AssertionError, saying why, unless every length is an int >= 1 that context and generator alone decide."""
    check_settings(phases, "length")
    rng = np.random.default_rng(seed)
    sources = make_sources(names)
    for phase in range(tries):
        context = make_context(sources, phase, rng, np.full(len(sources), 1.0 / len(sources)))
        first, second = (call(phases, "length", context, np.random.default_rng(phase)) for _ in range(2))
        if not isinstance(first, int) or isinstance(first, bool):
            fail(
                phases,
                "length",
                f"returned {first!r}, a {type(first).__name__}; a length is an int, so wrap it in int()",
            )
        if first < 1:
            fail(phases, "length", f"returned {first}; a phase has at least one step")
        if first != second:
            fail(phases, "length", "equal context and rng gave another length; draw from the rng that is passed in")
