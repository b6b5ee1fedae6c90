"""Sliding-window UCB: UCB1 over the last phases only, for rewards that jump (Garivier, Moulines 2008, 0805.3415)."""

from typing import ClassVar

import attrs
import numpy as np
import numpy.typing as npt

from andrea_core import Moment, Outcome, PolicyTraits, Proposal, Sources, Vector, number, positive
from andrea_plugins.policies.tally import Tally, credits_of, scores, toward


@attrs.frozen(eq=False)
class Window:
    """The credits of the last phases, one entry for each source that a phase drew, oldest first, (M,) each."""

    phase: npt.NDArray[np.int64]  # number of the phase that gave it
    source: npt.NDArray[np.int64]
    pulls: Vector
    known: Vector
    reward: Vector
    phases: int  # how many phases there were so far
    count: int  # number of sources


@attrs.frozen
class SlidingWindowUcb:
    """Walk a `step` of the way to the vertex of best score, counting the last `window` phases only.

    Source: SW-UCB (Garivier, Moulines 2008, 0805.3415, section 3): X_tau/N_tau + B sqrt(xi ln min(t, tau) / N_tau).
    Here c = B sqrt(xi): sqrt(1/2) for the paper's B = 1, xi = 1/2. The paper tunes tau = 4 sqrt(T ln T) for T phases
    with few changes in its simulations: 490 for 2,000.
    Reward: about 1 in size. Pull model: a phase is one pull, shared among the sources by their part of its tokens.
    Unseen sources: what is older than the window is gone, so a source that was not seen (or was excluded) for that
    long counts as never pulled and comes first.
    Departures: a fractional pull, and a step towards a vertex instead of one arm. A pull without a known reward counts
    as pulled and leaves the mean.
    """

    c: float = positive(default=0.5**0.5)
    window: int = number(default=500, at_least=1)
    step: float = positive(default=0.5, at_most=1.0)
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits(
        reward=(0.0, 1.0),
        pull="mixed",
        unseen="is forgotten after `window` phases, then comes first",
        equivariant=False,
    )

    def start(self, sources: Sources) -> Window:
        """Return an empty window."""
        none, nothing = np.zeros(0, np.int64), np.zeros(0)
        return Window(none, none, nothing, nothing, nothing, 0, len(sources))

    def propose(self, state: Window, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return w + step (v - w), (K,), for the weights w and the best vertex v; notes `score` and `vertex`."""
        return toward(scores(tally_of(state), self.c), moment, self.step)

    def update(self, state: Window, outcome: Outcome) -> Window:
        """Return the window with the phase's entries at its end and those that are too old cut off."""
        pulls, known, reward = credits_of(outcome)
        new = np.flatnonzero(pulls)
        first = int(np.searchsorted(state.phase, state.phases - self.window, "right"))
        return Window(
            np.concatenate([state.phase[first:], np.full(len(new), state.phases)]),
            np.concatenate([state.source[first:], new]),
            np.concatenate([state.pulls[first:], pulls[new]]),
            np.concatenate([state.known[first:], known[new]]),
            np.concatenate([state.reward[first:], reward[new]]),
            state.phases + 1,
            state.count,
        )


def tally_of(window: Window) -> Tally:
    """Return the sums over the window."""
    columns = (window.pulls, window.known, window.reward)
    return Tally(*(np.bincount(window.source, column, window.count).astype(np.float64) for column in columns))
