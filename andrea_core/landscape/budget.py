"""How much a measurement may cost, and the words that say how far to trust what came of it."""

import time
from collections.abc import Iterable

import attrs

OK, NOT_CONVERGED, NONFINITE, OVER_BUDGET = "ok", "not_converged", "nonfinite", "over_budget"
MISSING, UNSUPPORTED, UNBOUNDED, UNDETERMINED = "missing", "unsupported", "unbounded", "undetermined"
ASYMMETRIC = "asymmetric"

_FROM_BAD_TO_GOOD = (
    NONFINITE,
    ASYMMETRIC,
    MISSING,
    UNSUPPORTED,
    UNDETERMINED,
    UNBOUNDED,
    OVER_BUDGET,
    NOT_CONVERGED,
    OK,
)


@attrs.define
class Cost:
    """What a measurement took: passes over an objective's text, forward (`losses`), and back, and products with H."""

    losses: int = 0
    gradients: int = 0
    products: int = 0
    seconds: float = 0.0


@attrs.define
class Budget:
    """Spends evaluations: Hessian-vector products, gradients or losses, and seconds; None for no bound.

    A bound in seconds makes results depend on the speed of the machine, so a run that must repeat itself leaves it out.
    """

    evaluations: int | None = None
    seconds: float | None = None
    spent: int = attrs.field(default=0, init=False)
    _start: float = attrs.field(factory=time.monotonic, init=False)

    @property
    def left(self) -> bool:
        """Whether one more evaluation may be made."""
        late = self.seconds is not None and time.monotonic() - self._start >= self.seconds
        return not late and (self.evaluations is None or self.spent < self.evaluations)

    def take(self) -> bool:
        """Count one evaluation and return True, or return False when none is left."""
        if not self.left:
            return False
        self.spent += 1
        return True


def worst(statuses: Iterable[str]) -> str:
    """Return the status that says the least good of a value; `ok` for none.

    >>> worst(["ok", "over_budget", "not_converged"])
    'over_budget'
    """
    return min(statuses, key=_rank, default=OK)


def _rank(status: str) -> int:
    # A word of a plugin's own is no good sign, but the known ones say more.
    return _FROM_BAD_TO_GOOD.index(status) if status in _FROM_BAD_TO_GOOD else len(_FROM_BAD_TO_GOOD) - 2
