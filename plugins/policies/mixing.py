"""Mixing: what mixture policies share: masked softmax, exact floors, bounded logarithms, signals, tables by source."""

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from andrea_core import Outcome, ScenarioError, Sources, Vector, by_source, source_names, weights_by_source

Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

LARGEST = 1e100
"""Rewards are read as at most this in size, so that no sum or quotient of them overflows."""

LARGEST_LOSS = 1e6
"""Losses are read as at most this in size, in nats a token: far beyond any model's, far below what overflows."""

DEEPEST = 100.0
"""How far a cumulative log-weight may fall under the largest: e^-100 is nothing, yet a source can come back from it."""

_FAR = 1e300


def softmax(logits: Vector, active: Mask) -> Vector:
    """Return exp(logits) normalised over the active sources, (K,), 0 elsewhere; no exponent is above 0.

    A logit of minus infinity gives 0; when all active ones are, the answer is uniform.
    """
    open_logits = np.minimum(logits[active], _FAR)
    top = open_logits.max()
    weights = np.zeros(len(logits))
    weights[active] = np.exp(np.maximum(open_logits, -_FAR) - top) if top > -np.inf else 1.0
    weights /= weights.sum()
    return weights


def tempered(values: Vector, temperature: float) -> Vector:
    """Return values / temperature, (K,), for `softmax`: as far apart as that tells them apart, and never infinite."""
    bound = _FAR * temperature
    return np.asarray(np.clip(values, -bound, bound) / temperature)


def uniform(active: Mask) -> Vector:
    """Return the same weight for every active source, (K,)."""
    even: Vector = active / active.sum()
    return even


def smoothed(weights: Vector, part: float, active: Mask) -> Vector:
    """Return (1 - part) weights + part uniform over the active sources, (K,)."""
    blend: Vector = (1.0 - part) * weights + part * uniform(active)
    return blend


def masked(weights: Vector, active: Mask) -> Vector:
    """Return the weights (K,) of the active sources, normalised; uniform when nothing of them is left."""
    left = np.where(active, weights, 0.0)
    total = left.sum()
    normalised: Vector = left / total if total > 0 else uniform(active)
    return normalised


def raised(weights: Vector, floor: float, active: Mask) -> Vector:
    """Return the weights (K,) >= floor on the active sources that keep the ratios of those above it, summing to 1.

    The Kullback-Leibler projection on the floor: lifting and then dividing would leave the lifted ones under it. A
    floor of 1 / (number of active sources) or more gives the uniform weights.
    """
    count = int(active.sum())
    if floor * count >= 1:
        return uniform(active)
    weights = masked(weights, active)
    ascending = np.sort(weights[active])
    rest = ascending[::-1].cumsum()[::-1]  # the mass of this one and all larger ones
    scale = (1.0 - floor * np.arange(count)) / np.maximum(rest, 1e-300)
    factor = scale[int(np.argmax(ascending * scale >= floor))]
    lifted: Vector = np.where(active, np.maximum(weights * factor, floor), 0.0)
    return lifted


def lowered(log_weights: Vector) -> Vector:
    """Return log-weights (K,) shifted so that the largest is 0, and none below -DEEPEST."""
    shifted: Vector = np.maximum(log_weights - log_weights.max(), -DEEPEST)
    return shifted


def heard(outcome: Outcome, signal: str) -> Vector:
    """Return what a phase said of each source, (K,), NaN where it said nothing finite.

    `signal` is "training" or "heldout" (mean loss in nats a token) or "reward".
    """
    if signal == "reward":
        return np.where(outcome.seen, np.clip(outcome.reward, -LARGEST, LARGEST), np.nan)
    loss = outcome.loss if signal == "training" else outcome.observation.heldout
    if loss is None:
        return np.full(len(outcome.weights), np.nan)
    return np.where(np.isfinite(loss), np.clip(loss, -LARGEST_LOSS, LARGEST_LOSS), np.nan)


def needed(signal: str) -> frozenset[str]:
    """Return what a policy that hears this signal asks of the trainer."""
    return frozenset({"heldout"}) if signal == "heldout" else frozenset()


def latest(new: Vector, old: Vector) -> Vector:
    """Return the new values (K,), and the old ones where there are none (NaN)."""
    return np.where(np.isnan(new), old, new)


def filled(values: Vector, among: Mask, nothing: float) -> Vector:
    """Return values (K,) with the mean of those known `among` some sources in place of NaN; `nothing` without any."""
    known = ~np.isnan(values)
    counted = known & among if (known & among).any() else known
    return np.where(known, values, values[counted].mean() if counted.any() else nothing)


def optional_weights() -> Any:
    """Return a field for a table of weights in [0, 1] by source; left out, it is empty."""
    return weights_by_source(default=attrs.Factory(dict))


def optional_numbers() -> Any:
    """Return a field for a table of finite numbers by source; left out, it is empty."""

    def check(_instance: Any, attribute: "attrs.Attribute[Any]", value: Mapping[str, float]) -> None:
        for source, number in value.items():
            if not np.isfinite(number):
                raise ValueError(f"{attribute.name}.{source} must be finite, got {number!r}")

    return source_names(default=attrs.Factory(dict), validator=check)


def prior_of(table: Mapping[str, float], sources: Sources, where: str) -> Vector:
    """Return a table's weights (K,) normalised, uniform for an empty one; raises ScenarioError when all are 0."""
    if not table:
        return np.full(len(sources), 1.0 / len(sources))
    weights = by_source(table, sources, where)
    if not weights.any():
        raise ScenarioError(f"{where}: every weight is 0; give at least one source more")
    normalised: Vector = weights / weights.sum()
    return normalised


def every_source(table: Mapping[str, float], sources: Sources, where: str) -> Vector:
    """Return a table's numbers (K,); raises ScenarioError when it leaves a source out."""
    numbers = by_source(table, sources, where)
    missing = [name for name in sources.names if name not in table]
    if missing:
        raise ScenarioError(f"{where}: no number for source {missing[0]!r}; give one for every source")
    return numbers


def logarithm(weights: Vector) -> Vector:
    """Return ln(weights), (K,), minus infinity at 0, silently."""
    with np.errstate(divide="ignore"):
        logs: Vector = np.log(weights)
    return logs
