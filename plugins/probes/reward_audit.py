"""The reward audit: does the reward that the policy gets predict what held-out loss gains?"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from andrea_core import Mask, Measurement, Sources, Timetable, Vector, number
from andrea_plugins.probes.rank_correlation import interval, mean_and_error, rank_correlation

if TYPE_CHECKING:
    from andrea_core import ModelView


@attrs.frozen(eq=False)
class Pairs:
    """What a stage has shown: rewards and gains (pairs, K) of phases, NaN where unknown, and the last look's.

    `reward` (K,) is that of the last phase, NaN where the source was not seen; `heldout` (K,) the loss at its end.
    """

    stage: str
    step: int
    reward: Vector
    heldout: Vector
    rewards: Vector
    gains: Vector


@attrs.frozen
class RewardAudit:
    """Correlate the reward of a phase with the gain in held-out loss of the phase after it, by rank, within a stage.

    A bandit acts on a phase's reward in the phase after; with `ahead` 0 the gain is that of the phase itself. The gain
    of a source is the fall of its mean loss on at most `tokens` held-out tokens, always the same, in nats a token. A
    pair counts where the source had a reward and, ahead, got tokens in the phase of the gain.

    - `by_source` (K,): Spearman's correlation over the stage's phases, one a source, with the 95 % interval
      `by_source_low`, `by_source_high` (Fisher's z with Bonett and Wright's variance (1 + r^2 / 2) / (n - 3),
      Psychometrika 2000). Reward and gain both fade as training goes on, and such a trend counts in it.
    - `across`: the mean over phases of Spearman's correlation across the sources of one phase, and its standard error
      `across_error`. Every phase stands for itself, so that a trend does not count: what a policy that compares sources
      can rely on.
    - `pairs` (K,), `phases`: how many phases stand behind either.

    A new stage starts afresh, since its text is another. It must look at every phase's end, `every = 1`, as it does
    where no time is named: a phase at whose beginning or end it did not look gives no pair. After `phases` phases of a
    stage it measures no more, and says what it knows with the status `over_budget`. Other statuses: `undetermined`,
    fewer than `least` pairs, or none that differ; `missing` before the first pair. Cost a look: one forward pass over
    `tokens` tokens of each source. It cannot look at stored checkpoints, which keep no reward.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"outcome"})
    measures: ClassVar[tuple[str, ...]] = (
        "by_source",
        "by_source_low",
        "by_source_high",
        "across",
        "across_error",
        "pairs",
        "phases",
    )
    times: ClassVar[Timetable] = Timetable(every=1, at_start=True)

    tokens: int = number(default=128, at_least=1)
    ahead: int = number(default=1, at_least=0, at_most=1)
    least: int = number(default=8, at_least=4)
    phases: int = number(default=100, at_least=4, at_most=4096)

    def start(self, sources: Sources) -> Pairs:
        """Return a state without pairs."""
        none = np.full(len(sources), math.nan)
        return Pairs("", -1, none, none, np.empty((0, len(sources))), np.empty((0, len(sources))))

    def measure(
        self, state: Pairs, view: "ModelView", rng: np.random.Generator
    ) -> tuple[Mapping[str, Measurement], Pairs]:
        """Measure the correlations of the present stage so far."""
        fresh = view.stage != state.stage
        if len(state.gains) >= self.phases and not fresh:
            return self.correlations(state), state
        heldout = np.array([_mean_loss(view, index, self.tokens) for index in range(len(view.sources))])
        outcome = view.outcome
        if outcome is None:
            return self.correlations(state), attrs.evolve(state, stage=view.stage, step=view.step, heldout=heldout)
        reward = np.where(outcome.seen, outcome.reward, math.nan)
        began = outcome.step - len(outcome.observation.loss)
        after = self.followed(state, view.stage, (began, outcome.step), reward, outcome.share > 0, heldout)
        return self.correlations(after), after

    def followed(
        self, state: Pairs, stage: str, steps: tuple[int, int], reward: Vector, trained: Mask, heldout: Vector
    ) -> Pairs:
        """Return the state with one more phase from `steps[0]` to `steps[1]`; what is given (K,) is of its end."""
        fresh, whole = stage != state.stage, steps[0] == state.step
        empty = np.empty((0, len(reward)))
        rewards, gains = (empty, empty) if fresh else (state.rewards, state.gains)
        told = np.where(trained, math.nan if fresh else state.reward, math.nan) if self.ahead else reward
        gain = state.heldout - heldout
        if whole and np.isfinite(told + gain).any():
            rewards, gains = np.vstack([rewards, told]), np.vstack([gains, gain])
        return Pairs(stage, steps[1], reward, heldout, rewards, gains)

    def correlations(self, state: Pairs) -> dict[str, Measurement]:
        """Return the measurements of what a stage has shown."""
        known = np.isfinite(state.rewards + state.gains)
        count = known.sum(0)
        columns = [(state.rewards[mask, k], state.gains[mask, k]) for k, mask in enumerate(known.T)]
        rows = [(state.rewards[i, mask], state.gains[i, mask]) for i, mask in enumerate(known)]
        found = np.array([rank_correlation(*pair) if len(pair[0]) >= self.least else math.nan for pair in columns])
        low, high = np.array([interval(r, int(n)) for r, n in zip(found, count, strict=True)]).reshape(-1, 2).T
        within = np.array([rank_correlation(*pair) for pair in rows if len(pair[0]) > 2])
        within = within[np.isfinite(within)]
        across, error = mean_and_error(within) if len(within) >= self.least else (math.nan, math.nan)
        return {
            **{
                name: Measurement(values, self._status(state, values))
                for name, values in (("by_source", found), ("by_source_low", low), ("by_source_high", high))
            },
            "across": Measurement(across, self._status(state, np.array([across]))),
            "across_error": Measurement(error, self._status(state, np.array([error]))),
            "pairs": Measurement(count.astype(np.float64)),
            "phases": Measurement(float(len(within))),
        }

    def _status(self, state: Pairs, values: Vector) -> str:
        if not len(state.gains):
            return "missing"
        if not np.isfinite(values).any():
            return "undetermined"
        return "over_budget" if len(state.gains) >= self.phases else "ok"


def _mean_loss(view: "ModelView", index: int, tokens: int) -> float:
    windows = view.heldout(index, tokens)
    predicted = windows.shape[0] * (windows.shape[1] - 1)
    return float(view.row_losses(windows).sum()) / predicted if predicted else math.nan
