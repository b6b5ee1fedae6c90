"""The noise trap: source A is pure noise N(3, 1), source B can be learnt from 3 to 2; who gets a bandit's pulls?"""

import attrs
import numpy as np

from andrea_core import Gradients, Observation, Outcome, Sources
from andrea_plugins.policies.tally import scores
from andrea_plugins.policies.ucb1 import Ucb1

NAMES = ("A", "B")
PULLS, TAU = 3000, 1000.0
HELDOUT_JITTER = 0.005  # of a held-out loss on fixed windows, from one phase to the next
DIMENSIONS, GRADIENT_NOISE = 20, 0.1  # of a mean gradient; the slope of B at the start is 1


def level(source, pulls):
    """The expected loss of a source after it was pulled so often."""
    return 3.0 if source == 0 else 2.0 + np.exp(-pulls / TAU)


def loss_of(source, pulls, rng):
    """One pull's loss: A has a spread of 1, B one of .1."""
    return level(source, pulls) + rng.normal(0.0, 1.0 if source == 0 else 0.1)


def gradients_of(pulls, rng):
    """Products of gradients that are noise for A, and for B noise on a slope that fades as B is learnt."""
    slope = np.zeros((2, DIMENSIONS))
    slope[1, 0] = np.exp(-pulls[1] / TAU)
    noise = np.array([[1.0], [GRADIENT_NOISE]])  # A's losses are ten times as spread out, so its gradients are
    train, heldout = (slope + noise * rng.normal(0.0, GRADIENT_NOISE, (2, DIMENSIONS)) for _ in range(2))
    return Gradients(train @ train.T, train @ heldout.T)


def observed(arm, pulls, step, needs, rng, more):
    """What a phase of one row of source `arm` shows; `pulls` (2,) counts this one already.

    What is measured besides the loss draws from `more`, so that losses do not depend on it.
    """
    loss = loss_of(arm, pulls[arm] - 1, rng)
    shown = Observation(np.array([[loss]]), np.ones((1, 1), np.int64), np.array([[arm]]), np.eye(2)[arm], step + 1)
    after = loss + level(arm, pulls[arm]) - level(arm, pulls[arm] - 1)
    heldout = np.array([level(k, pulls[k]) for k in (0, 1)]) + more.normal(0.0, HELDOUT_JITTER, 2)
    return attrs.evolve(
        shown,
        loss_after=np.array([[after]]) if "loss_after" in needs else None,
        heldout=heldout if "heldout" in needs else None,
        gradients=gradients_of(pulls, more) if "source_gradients" in needs else None,
    )


def share_of_noise(reward, c, seed, pulls=PULLS):
    """The share of pulls that go to A when a phase is one row of the source with the best UCB1 score."""
    rng, more = np.random.default_rng(seed), np.random.default_rng((seed, 1))
    sources, policy = Sources(NAMES, np.ones(2, np.int64)), Ucb1(c=c)
    tally, state, count = policy.start(sources), reward.start(sources), np.zeros(2)
    for step in range(pulls):
        arm = int(np.argmax(scores(tally, c)))
        count[arm] += 1
        shown = observed(arm, count, step, reward.needs, rng, more)
        answer, state = reward.score(state, shown, more)
        share = np.eye(2)[arm]
        seen = np.isfinite(answer) & (share > 0)
        known = np.where(seen, answer, 0.0)
        tally = policy.update(tally, Outcome(step + 1, step, share, share, known, seen, shown.loss_by_source(), shown))
    return count[0] / pulls


def mean_share(reward, c=2**0.5, seeds=20):
    """The mean share of A over seeds."""
    return float(np.mean([share_of_noise(reward, c, seed) for seed in range(seeds)]))
