"""Skill-It: weights that follow the losses through a graph of which source helps which (2307.14430)."""

from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np

from andrea_core import (
    Moment,
    Outcome,
    PolicyTraits,
    Proposal,
    Sources,
    Vector,
    check_sources,
    number,
    one_of,
    positive,
    source_names,
)
from andrea_plugins.policies.graph import Edges, Rows, edges, helped, rows
from andrea_plugins.policies.mixing import filled, heard, latest, logarithm, needed, optional_weights, prior_of, softmax


@attrs.frozen(eq=False)
class Losses:
    """The losses after the last phases, newest last."""

    window: Vector  # (window, K), NaN where there is none yet


@attrs.frozen
class SkillIt:
    """Propose prior * exp(eta A S), normalised, where S sums the last `window` vectors of losses; not cumulative.

    Source: Chen et al. 2023, 2307.14430, algorithm 1 in the form of their code: each mixture starts from the `prior`
    (uniform without a table) and not from the last one. Before any loss S = 1.
    A (i, j) says how much training on i helps j: `matrix`, in the scenario's order of sources, or `graph`, a table `i
    = { j = number }` with 1 on the diagonal unless it says otherwise. Their graphs read an edge as .5. Without either
    A is the identity, and weights follow the losses.
    eta is .5 for LEGO, .1 for addition and .2 for natural instructions; `window` 3 in all.
    `targets` counts the losses of these sources alone (their fine-tuning and out-of-domain settings).
    Reward: none is read; the signal is the "heldout" loss, which the method is made for, or "training" as a stand-in.
    Pull model: mixed batch, one update a phase.
    Unseen sources: their last loss is used again; before its first loss a source counts with the mean of the known
    ones.
    Departures: an update a phase instead of every few hundred steps; losses are read as at most 1e6. Learning the
    graph is left out, as in the authors' code, whose dynamic damping changes the graph in place.
    """

    graph: Edges = edges()
    matrix: Rows = rows()
    eta: float = positive(default=0.5)
    window: int = number(default=3, at_least=1, at_most=10_000)
    prior: Mapping[str, float] = optional_weights()
    targets: tuple[str, ...] = source_names(default=())
    signal: str = one_of("training", "heldout", default="heldout")
    traits: ClassVar[PolicyTraits] = PolicyTraits(None, "mixed", "the last loss counts again")

    def __attrs_post_init__(self) -> None:
        """Raise ValueError when both a graph and a matrix are given."""
        if self.graph and self.matrix:
            raise ValueError("graph and matrix say the same thing; give one of them")

    @property
    def needs(self) -> frozenset[str]:
        """The held-out loss, if that is the signal."""
        return needed(self.signal)

    def start(self, sources: Sources) -> Losses:
        """Return no losses; raises ScenarioError for an unknown source or a matrix of another size."""
        helped(self.graph, self.matrix, sources, "policy skill_it", np.zeros(len(sources)))
        prior_of(self.prior, sources, "policy skill_it, prior")
        check_sources(self.targets, sources, "policy skill_it, targets")
        return Losses(np.full((self.window, len(sources)), np.nan))

    def propose(self, state: Losses, moment: Moment, rng: np.random.Generator) -> Proposal:
        """Return the mixture (K,) over the active sources; note `need`, A S, NaN where excluded."""
        sources = moment.sources
        losses = np.where(self._counted(sources), self._summed(state, moment), 0.0)
        need = helped(self.graph, self.matrix, sources, "policy skill_it", losses)
        prior = prior_of(self.prior, sources, "policy skill_it, prior")
        with np.errstate(over="ignore", invalid="ignore"):
            weights = softmax(logarithm(prior) + np.nan_to_num(self.eta * need), moment.active)
        return Proposal(weights, notes={"need": np.where(moment.active, need, np.nan)})

    def _counted(self, sources: Sources) -> Vector:
        """Return 1 for the sources whose losses count, (K,)."""
        return np.array([not self.targets or name in self.targets for name in sources.names])

    def _summed(self, state: Losses, moment: Moment) -> Vector:
        """Return the sum (K,) of the losses in the window, gaps filled; 1 for all before any."""
        recent = [filled(row, moment.active, np.nan) for row in state.window if not np.isnan(row).all()]
        return np.sum(recent, axis=0) if recent else np.ones(len(moment.weights))

    def update(self, state: Losses, outcome: Outcome) -> Losses:
        """Return the window with the losses after the phase as its newest row."""
        row = latest(heard(outcome, self.signal), state.window[-1])
        return Losses(np.concatenate([state.window[1:], row[None]]))
