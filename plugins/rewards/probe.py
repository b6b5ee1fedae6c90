"""A probe as reward: what it measures at the end of a phase, or how that changed since it last looked."""

import math
from typing import ClassVar

import attrs
import numpy as np

from andrea_core import Observation, RewardTraits, Scores, Sources, Vector, one_of
from andrea_plugins.rewards.normalisers import ANY, KINDS, Normalised, Scale


@attrs.frozen(eq=False)
class Last:
    """What the reward remembers: the values (K,) of the last look, NaN before it, and the normaliser's state."""

    values: Vector
    scale: Scale


@attrs.frozen(kw_only=True)
class Probed(Normalised):
    """Score each source with the `measurement` of the probe `name`, one of the scenario's `[[probes]]`.

    `form` says how: "fall" (default), the value at the look before less this one, for what should go down, as held-out
    loss or curvature; "rise", the other way round; "value" and "negative", the value itself. One number a source is
    that source's; one number is the score of every source that the phase trained, which tells sources apart only as far
    as phases differ in them.
    Source: learning progress as a teacher's reward (Graves et al. 2017, 1704.03003; Matiisen et al. 2017, 1707.00183),
    with any measurement in the loss's place.
    Range: that of the measurement, by default [-1, 1] between quantiles of past scores.
    Pull model: a phase is one pull; of the phases since the probe's last look the last one gets the score of all.
    Unseen sources: measured all the same, but the core credits no reward to a source that got no tokens. No score in a
    phase at whose end the probe does not look (`every = 1` is a look a phase), nor from a value that is not finite; a
    "fall" or "rise" needs two looks at phases' ends. Cost: the probe's, in the record's table `looks`.
    """

    name: str
    measurement: str
    form: str = one_of("fall", "rise", "value", "negative", default="fall")
    normaliser: str = one_of(*KINDS, default="quantile")
    needs: ClassVar[frozenset[str]] = frozenset({"probed"})

    @property
    def watches(self) -> tuple[str, str]:
        """The probe and its measurement."""
        return self.name, self.measurement

    @property
    def traits(self) -> RewardTraits:
        """A difference to the look before, or as fresh as the probe."""
        age = 1.0 if self.form in ("fall", "rise") else 0.0
        return self.declared(RewardTraits(ANY, staleness=age, unit=f"{self.name}.{self.measurement}"))

    def start(self, sources: Sources) -> Last:
        """Return the state before anything is measured."""
        return Last(np.full(len(sources), math.nan), self.scale())

    def score(self, state: Last, observation: Observation, rng: np.random.Generator) -> tuple[Scores, Last]:
        """Return the scores (K,), NaN where there is nothing new."""
        now = np.asarray(observation.probed, np.float64)
        raw = {"fall": state.values - now, "rise": now - state.values, "value": now, "negative": -now}[self.form]
        scores, scale = self.rescaled(state.scale, np.where(np.isfinite(raw), raw, math.nan), rng)
        return scores, Last(np.where(np.isfinite(now), now, state.values), scale)
