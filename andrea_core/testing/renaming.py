"""Whether a policy that claims not to care for the order of sources does not: the same run, its sources permuted."""

from typing import Any

import attrs
import numpy as np

from andrea_core.contracts import Policy
from andrea_core.simplex import Region
from andrea_core.testing.calls import call, fail
from andrea_core.testing.worlds import draw_ledger, draw_observation, draw_region, frozen, make_sources, taught
from andrea_core.traits import PolicyTraits
from andrea_core.values import Gradients, Integers, Ledger, Moment, Observation, Outcome, Proposal, Sources, Vector

CLOSE = 1e-6
"""How far weights may differ by the order of sums alone."""

DRAWS, SIGMAS = 256, 6.0
"""How often a policy that draws is asked, and how many standard errors its means may differ."""


def claims(policy: Policy[Any]) -> bool:
    """Return whether a policy's traits claim that renaming the sources renames the weights."""
    traits = getattr(policy, "traits", None)
    return isinstance(traits, PolicyTraits) and traits.equivariant


def check_renaming(policy: Policy[Any], names: tuple[str, ...], order: Integers, phases: int, seed: int) -> None:
    """Fail unless the weights of a mild run (scores about 1, no ties) are permuted when its sources are, by `order`.

    One policy that proposes by its generator is held to the claim in law: its mean over 256 draws at a moment, to six
    standard errors. The other ones have to agree to 1e-6.
    """
    rng = np.random.default_rng(seed)
    sources = make_sources(names)
    states = [call(policy, "start", one) for one in (sources, _sources(sources, order))]
    region = draw_region(names, rng)
    for phase in range(phases):
        weights, ledger = region.sample(rng), draw_ledger(len(names), rng)
        moment = Moment(20 * phase, phase, "trial", sources, region, frozen(weights), ledger)
        moments = (moment, _moment(moment, order))
        _compare(policy, states, moments, order)
        shown = draw_observation(weights, 20 * (phase + 1), rng, policy.needs)
        outcome = taught(_distinct(shown, rng), phase, rng.uniform(-1, 1, len(names)))
        told = (outcome, _outcome(outcome, order))
        states = [call(policy, "update", state, one) for state, one in zip(states, told, strict=True)]


def _compare(policy: Policy[Any], states: list[Any], moments: tuple[Moment, Moment], order: Integers) -> None:
    first, second = (_draws(policy, *pair) for pair in zip(states, moments, strict=True))
    mean, other = first.mean(axis=0)[order], second.mean(axis=0)
    error = np.hypot(first.std(axis=0)[order], second.std(axis=0)) / np.sqrt(len(first))
    wrong = abs(mean - other) > CLOSE + SIGMAS * error
    if wrong.any():
        name = moments[1].sources.names[int(np.flatnonzero(wrong)[0])]
        before, after = mean[wrong][0], other[wrong][0]
        fail(
            policy,
            "propose",
            f"gave source {name!r} {before:.6g} in one order of the sources and {after:.6g} in another, though its "
            "traits claim that renaming sources only renames weights; declare `equivariant=False`, or use no positions",
        )


def _draws(policy: Policy[Any], state: Any, moment: Moment) -> Vector:
    """Return proposals (N, K), normalised: two that agree of a policy that draws nothing, else DRAWS of them."""
    answers: list[Vector] = []
    for seed in range(DRAWS):
        answer = call(policy, "propose", state, moment, np.random.default_rng([moment.phase, seed]))
        target = np.asarray(answer.target if isinstance(answer, Proposal) else answer, dtype=np.float64)
        answers.append(target / target.sum())
        if seed == 1 and (answers[0] == answers[1]).all():
            break
    return np.array(answers)


def _distinct(shown: Observation, rng: np.random.Generator) -> Observation:
    """Return the observation with losses that do not tie: with ties, a policy may go by position."""
    loss = shown.tokens * rng.uniform(1, 5, shown.loss.shape)
    held = None if shown.heldout is None else rng.uniform(1, 5, len(shown.weights))
    after = None if shown.loss_after is None else loss * rng.uniform(0.8, 1.1, loss.shape)
    return attrs.evolve(shown, loss=loss, heldout=held, loss_after=after)


def _sources(sources: Sources, order: Integers) -> Sources:
    return Sources(tuple(sources.names[k] for k in order), sources.tokens[order])


def _moment(moment: Moment, order: Integers) -> Moment:
    region, sources = moment.region, _sources(moment.sources, order)
    floors = {name: float(low) for name, low in zip(region.names, region.lower, strict=True) if low > 0}
    caps = {name: float(top) for name, top in zip(region.names, region.upper, strict=True) if top < 1}
    ledger = Ledger(moment.ledger.drawn[order], moment.ledger.trained[order], moment.ledger.epochs[order])
    permuted = Region.of(sources.names, floors, caps)
    return attrs.evolve(moment, sources=sources, region=permuted, weights=moment.weights[order], ledger=ledger)


def _outcome(outcome: Outcome, order: Integers) -> Outcome:
    shown, place = outcome.observation, np.argsort(order)
    there = shown.gradients
    permuted = attrs.evolve(
        shown,
        source=place[shown.source],
        weights=shown.weights[order],
        heldout=None if shown.heldout is None else shown.heldout[order],
        gradients=there and Gradients(there.train[np.ix_(order, order)], there.heldout[np.ix_(order, order)]),
    )
    return taught(permuted, outcome.phase, np.where(outcome.seen, outcome.reward, np.nan)[order])
