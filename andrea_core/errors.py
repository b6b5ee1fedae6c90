"""The errors a user meets: each says what is wrong, where, and what to do."""

from typing import Any


class AndreaError(Exception):
    """Base of all errors that are the user's to mend; the command line prints it without a traceback and exits 2."""

    told = False
    """Whether another process of the same run says it: this one ends without a word."""


class ScenarioError(AndreaError):
    """A scenario that does not parse, does not fit together, or asks for what is not there."""


class PluginError(AndreaError):
    """A plugin that cannot be found or loaded, clashes with another, or broke its contract while a run was going on."""


class CorpusError(AndreaError):
    """Text that cannot be had, read, or split."""


class RunError(AndreaError):
    """A run folder that is none, is in use, does not match, or has no valid checkpoint."""


class InfeasibleRegion(AndreaError):  # noqa: N818
    """Bounds that no weight vector can satisfy.

    `clash` holds the smallest set of bounds that contradict each other (`andrea_core.simplex.Bound`): feasible once
    any one of them is dropped. `excess` is the mass that the bounds of that kind ask too much or allow too
    little; `repair` says in words the smallest change that mends it.
    """

    def __init__(self, message: str, *, clash: tuple[Any, ...] = (), excess: float = 0.0, repair: str = "") -> None:
        super().__init__(message)
        self.clash = clash
        self.excess = excess
        self.repair = repair
