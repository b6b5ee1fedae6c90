"""Phases as mixture policies meet them: losses, held-out losses and rewards that a test writes down."""

import numpy as np

from andrea_core import Moment, Observation, Outcome, Proposal, Region, Sources
from andrea_core.testing.worlds import draw_ledger

TOKENS = 10**6


def sources_of(count, names=None):
    """Sources s0, s1, ... of a million tokens each."""
    names = tuple(names or (f"s{k}" for k in range(count)))
    return Sources(names, np.full(len(names), TOKENS, np.int64))


def phase(weights, loss=None, heldout=None, reward=None, number=0, step=None, steps=1, tokens=1000):
    """What a phase under landed `weights` (K,) taught; NaN in `loss` or `reward` is a source that was not seen."""
    weights = np.asarray(weights, float)
    count = len(weights)
    loss = np.full(count, np.nan) if loss is None else np.asarray(loss, float)
    reward = np.full(count, np.nan) if reward is None else np.asarray(reward, float)
    known = np.isfinite(reward)
    counts = np.tile(np.maximum(np.round(weights * tokens), 0).astype(np.int64), (steps, 1))
    rows = np.tile(np.arange(count), (steps, 1))
    step = number + 1 if step is None else step
    with np.errstate(over="ignore"):
        sums = np.nan_to_num(loss) * counts
    held = None if heldout is None else np.asarray(heldout, float)
    observation = Observation(sums, counts, rows, weights, step, held)
    share = counts.sum(0) / counts.sum()
    return Outcome(step, number, weights, share, np.where(known, reward, 0.0), known, loss, observation)


def moment_of(region, weights=None, number=0, step=0, tokens=None):
    """A phase border in a region, or on the plain simplex of so many sources."""
    region = Region.of([f"s{k}" for k in range(region)]) if isinstance(region, int) else region
    count = len(region.names)
    sources = Sources(region.names, np.full(count, TOKENS, np.int64) if tokens is None else np.array(tokens))
    weights = region.centre if weights is None else np.asarray(weights, float)
    return Moment(step, number, "trial", sources, region, weights, draw_ledger(count, np.random.default_rng(0)))


def proposal_of(policy, state, region, **moment):
    """What a policy wishes, as a Proposal."""
    answer = policy.propose(state, moment_of(region, **moment), np.random.default_rng(0))
    return answer if isinstance(answer, Proposal) else Proposal(answer)


def target_of(policy, state, region, **moment):
    """What a policy wishes, (K,), normalised as the core does."""
    target = np.asarray(proposal_of(policy, state, region, **moment).target)
    return target / target.sum()


def walked(policy, count, phases, **said):
    """The weights after each of so many phases that all say the same, from uniform ones; each is trained on."""
    state, weights, path = policy.start(sources_of(count)), np.full(count, 1.0 / count), []
    for number in range(phases):
        state = policy.update(state, phase(weights, number=number, **said))
        weights = target_of(policy, state, count)
        path.append(weights)
    return path
