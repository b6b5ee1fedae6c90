"""Rewards that watch a probe: the probe must be there, and its measurement one number, or one a source."""

from collections.abc import Mapping

import numpy as np

from andrea_core.contracts import Reward, Watching
from andrea_core.errors import ScenarioError
from andrea_core.spelling import nearest
from andrea_core.values import Measurement, Vector


def refuse_unwatched(reward: Reward[object], probes: list[str]) -> None:
    """Raise ScenarioError when a reward watches a probe that the scenario does not have."""
    if isinstance(reward, Watching) and reward.watches[0] not in probes:
        name = reward.watches[0]
        raise ScenarioError(
            f"reward: it is made of what the probe {name!r} measures, which the scenario does not have"
            f"{nearest(name, probes) or '; its probes are ' + (', '.join(probes) or 'none')}"
        )


def for_each_source(found: Mapping[str, Measurement], watched: tuple[str, str], count: int) -> Vector:
    """Return a measurement as (K,) numbers: one number is every source's, and what is not finite is NaN.

    Raises ScenarioError, naming what there is, when the probe measures no such numbers.
    """
    name, measurement = watched
    one = found.get(measurement)
    if one is None or isinstance(one.value, str) or one.axes:
        usable = [key for key, other in found.items() if not other.axes and not isinstance(other.value, str)]
        what = f"an array over {', '.join(one.axes)}" if one is not None and one.axes else "no number"
        raise ScenarioError(
            f"reward: the probe {name!r} measures {what} called {measurement!r}; one number, or one a source, are "
            f"{', '.join(usable) or 'none'}"
        )
    values = np.broadcast_to(np.asarray(one.value, np.float64), (count,))
    return np.where(np.isfinite(values), values, np.nan)
