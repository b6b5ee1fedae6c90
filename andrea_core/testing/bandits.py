"""Bandit games for policies: one source a phase, drawn by the landed weights, through propose, landing and update."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from andrea_core.contracts import Policy, Reward
from andrea_core.guard import landed
from andrea_core.simplex import Region
from andrea_core.testing.worlds import frozen
from andrea_core.values import Integers, Ledger, Moment, Observation, Outcome, Proposal, Sources, Vector

Answer = Callable[[int, int, Vector], Outcome]
"""Takes the source that was drawn, the number of the phase and the weights (K,); returns what the phase taught."""

_ONE, _TOKEN = frozen(np.ones((1, 1))), frozen(np.ones((1, 1), np.int64))


def play(policy: Policy[Any], answer: Answer, names: Sequence[str], pulls: int, seed: int) -> Integers:
    """Return the source (pulls,) of each phase of a game on the plain simplex of `names`.

    Equal seeds give equal draws. With a `step` of 1 a policy that walks to vertices plays the arm it finds best.
    """
    world = np.random.default_rng([seed, 1])
    return _game(policy, answer, names, pulls, seed, lambda pull, weights: draw(weights, world.random()))[0]


def forced(policy: Policy[Any], history: Sequence[tuple[int, float]], names: Sequence[str]) -> tuple[Any, Vector]:
    """Return a policy's state and its next weights (K,), landed, after given pulls (source, reward).

    The importance weights are those of the distributions that it proposed on the way, as if these had drawn the pulls.
    """
    rewards = np.zeros((len(history), len(names)))
    for pull, (arm, reward) in enumerate(history):
        rewards[pull, arm] = reward
    _, state, weights = _game(policy, paying(rewards), names, len(history), 0, lambda pull, _: history[pull][0])
    return state, weights


def _game(
    policy: Policy[Any],
    answer: Answer,
    names: Sequence[str],
    pulls: int,
    seed: int,
    pick: Callable[[int, Vector], int],
) -> tuple[Integers, Any, Vector]:
    own, drawn = np.random.default_rng([seed, 0]), np.zeros(pulls, np.int64)
    moment = opening(names)
    state = policy.start(moment.sources)
    for pull in range(pulls):
        weights = landing(policy, state, moment, own)
        drawn[pull] = arm = pick(pull, weights)
        state = policy.update(state, answer(arm, pull, weights))
        moment = Moment(pull + 1, pull + 1, "game", moment.sources, moment.region, weights, moment.ledger)
    return drawn, state, landing(policy, state, moment, own)


def opening(names: Sequence[str]) -> Moment:
    """Return the first moment of a game: the plain simplex of `names`, its centre, sources of equal size."""
    region, none = Region.of(tuple(names)), np.zeros(len(names), np.int64)
    sources = Sources(region.names, none + 1)
    return Moment(0, 0, "game", sources, region, region.centre, Ledger(none, none, none / 1.0))


def landing(policy: Policy[Any], state: Any, moment: Moment, rng: np.random.Generator) -> Vector:
    """Return what a policy proposes, landed on the moment's region as a run would land it, (K,)."""
    proposal = policy.propose(state, moment, rng)
    target = proposal.target if isinstance(proposal, Proposal) else proposal
    return landed(target / target.sum(), moment, "euclidean")


def draw(weights: Vector, chance: float) -> int:
    """Return the source that a number in [0, 1) draws; never one of weight 0."""
    return int(min(np.searchsorted(weights.cumsum(), chance, "right"), np.flatnonzero(weights)[-1]))


def paying(rewards: Vector) -> Answer:
    """Return the answer of a game whose source k would pay rewards[t, k] in phase t."""
    vertices = frozen(np.eye(rewards.shape[1]))
    places = [frozen(np.full((1, 1), k)) for k in range(rewards.shape[1])]

    def answer(arm: int, pull: int, weights: Vector) -> Outcome:
        share = vertices[arm]
        shown = Observation(_ONE, _TOKEN, places[arm], weights, pull + 1)
        return Outcome(pull + 1, pull, weights, share, share * rewards[pull, arm], share > 0, share, shown)

    return answer


def losing(losses: Callable[[int, int], float], reward: Reward[Any], count: int, seed: int = 0) -> Answer:
    """Return the answer of a game whose source k shows losses(k, its pulls before) nats, scored by a reward plugin."""
    sources = Sources(tuple(f"s{k}" for k in range(count)), np.ones(count, np.int64))
    state, pulls, rng = reward.start(sources), [0] * count, np.random.default_rng([seed, 2])

    def answer(arm: int, pull: int, weights: Vector) -> Outcome:
        nonlocal state
        loss = np.full((1, 1), losses(arm, pulls[arm]))
        pulls[arm] += 1
        shown = Observation(loss, _TOKEN, np.full((1, 1), arm), weights, pull + 1)
        scores, state = reward.score(state, shown, rng)
        seen = np.isfinite(scores)
        share = frozen(np.eye(count)[arm])
        known = np.where(seen, scores, 0.0)
        return Outcome(pull + 1, pull, weights, share, known, seen, shown.loss_by_source(), shown)

    return answer
