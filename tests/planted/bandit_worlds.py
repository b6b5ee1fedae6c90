"""Two worlds that judge bandits: rewards that jump (Garivier, Moulines 2008), and a source of pure noise."""

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np

from andrea_core.testing.bandits import losing, paying, play
from andrea_plugins.policies import (
    DiscountedUcb,
    Exp3,
    Exp3Ix,
    Exp3S,
    SlidingWindowUcb,
    Thompson,
    TsallisInf,
    Ucb1,
    Uniform,
)

HORIZON, ARMS = 10_000, ("a", "b", "c")
ROOT = 0.5**0.5
UNIT = {"low": 0.0, "high": 1.0}
PHASES = 3  # the best arm is the same in three stretches

JUMPING = {
    "random": Uniform(),
    "thompson": Thompson(family="beta", step=1.0, **UNIT),
    "ucb1, c = sqrt(1/2)": Ucb1(c=ROOT, step=1.0),
    "ucb1": Ucb1(step=1.0),
    "exp3s, tuned": Exp3S(
        gamma=(3 * (PHASES * np.log(3 * HORIZON) + np.e) / (np.e - 1) / HORIZON) ** 0.5, alpha=1 / HORIZON, **UNIT
    ),
    "sliding_window_ucb, 429": SlidingWindowUcb(window=429, step=1.0),
    "sliding_window_ucb, 1213": SlidingWindowUcb(window=1213, step=1.0),
    "discounted_ucb, .9975": DiscountedUcb(c=ROOT, discount=0.9975, step=1.0),
    "thompson, .9975": Thompson(family="beta", discount=0.9975, step=1.0, **UNIT),
}
PUBLISHED = {
    "random": (1470, 2),
    "thompson": (803, 14),
    "ucb1, c = sqrt(1/2)": (665, 18),
    "ucb1": (615, 10),
    "exp3s, tuned": (489, 9),
    "sliding_window_ucb, 429": (367, 8),
    "sliding_window_ucb, 1213": (284, 12),
}
"""Mean regret and its standard error over 40 seeds, worst first."""

DEFAULTS = {
    "ucb1": Ucb1(),
    "discounted_ucb": DiscountedUcb(),
    "sliding_window_ucb": SlidingWindowUcb(),
    "thompson": Thompson(),
    "thompson, beta": Thompson(family="beta"),
    "exp3": Exp3(),
    "exp3s": Exp3S(),
    "exp3ix": Exp3Ix(),
    "tsallis_inf": TsallisInf(),
}


def regret(name, seed, pulls=HORIZON):
    """The regret of a policy where a, b, c pay 1 with chance .5, .3, .4, and c .9 in pulls 3,000 to 5,000."""
    mean = np.tile([0.5, 0.3, 0.4], (pulls, 1))
    mean[3000:5000, 2] = 0.9
    rewards = (np.random.default_rng([seed, 9]).random(mean.shape) < mean).astype(float)
    drawn = play(JUMPING[name], paying(rewards), ARMS, pulls, seed)
    return float((mean.max(1) - mean[np.arange(pulls), drawn]).sum())


def share_of_noise(policy, reward, seed, pulls=3000):
    """The share of pulls of source A, N(3, 1) for ever, beside B, which falls from 3 to 2 with its pulls (sd .1)."""
    rng = np.random.default_rng([seed, 5])

    def losses(arm, before):
        return rng.normal(3.0, 1.0) if arm == 0 else 2.0 + np.exp(-before / 1000.0) + rng.normal(0.0, 0.1)

    return float(np.mean(play(policy, losing(losses, reward, 2, seed), ("A", "B"), pulls, seed) == 0))


def over_seeds(measure, *arguments, seeds):
    """Mean and standard error of a measure over seeds, in two processes."""
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        values = list(pool.map(partial(measure, *arguments), range(seeds), chunksize=max(1, seeds // 8)))
    return float(np.mean(values)), float(np.std(values, ddof=1) / seeds**0.5)
