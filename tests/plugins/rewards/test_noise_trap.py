"""The noise trap: source A is pure noise N(3, 1), source B can be learnt from 3 to 2; who gets UCB1's pulls?"""

import numpy as np

from andrea_core import Observation, Outcome, Sources
from andrea_plugins.policies.ucb1 import Ucb1, scores
from andrea_plugins.rewards import Improvement

PULLS, SEEDS = 3000, 20


def share_of_noise(reward, c, seed):
    """Return the share of pulls that go to A when a phase is one row of the source with the best UCB1 score."""
    rng = np.random.default_rng(seed)
    sources, policy = Sources(("A", "B"), np.ones(2, np.int64)), Ucb1(c=c)
    tally, averages, pulls = policy.start(sources), reward.start(sources), np.zeros(2)
    for step in range(PULLS):
        arm = int(np.argmax(scores(tally, c)))
        loss = rng.normal(3.0, 1.0) if arm == 0 else 2.0 + np.exp(-pulls[1] / 1000) + rng.normal(0.0, 0.1)
        pulls[arm] += 1
        share = np.eye(2)[arm]
        shown = Observation(np.array([[loss]]), np.ones((1, 1), np.int64), np.array([[arm]]), share, step + 1)
        answer, averages = reward.score(averages, shown, rng)
        seen = np.isfinite(answer)
        known = np.where(seen, answer, 0.0)
        tally = policy.update(tally, Outcome(step + 1, step, share, share, known, seen, shown.loss_by_source(), shown))
    return pulls[0] / PULLS


def mean_share(reward, c, seeds=SEEDS):
    return np.mean([share_of_noise(reward, c, seed) for seed in range(seeds)])


def test_the_default_reward_gives_pure_noise_less_than_30_percent():
    assert mean_share(Improvement(), Ucb1().c) < 0.30


def test_andreas_form_parks_on_pure_noise():
    """Means near 400 make the bonus noise, so the first rewards decide: 14 seeds of 20 park on A, the published .70."""
    assert round(mean_share(Improvement(form="andrea"), 1.0), 2) == 0.70


def test_andreas_form_parks_on_pure_noise_for_a_bonus_of_its_size_too():
    assert mean_share(Improvement(form="andrea"), 100.0, seeds=3) > 0.95
