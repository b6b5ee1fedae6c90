"""Estimates: rewards in [0, 1], and importance weights by the landed probability."""

import numpy as np

from andrea_core import Outcome, Vector

NEVER = 1e-12
"""The smallest probability that an importance weight is divided by, where a policy sets no larger one."""


def ordered(low: float, high: float) -> None:
    """Raise ValueError unless low < high."""
    if not low < high:
        raise ValueError(f"low must be less than high, got low = {low:g} and high = {high:g}")


def unit(outcome: Outcome, low: float, high: float) -> Vector:
    """Return rewards (K,) mapped from [low, high] to [0, 1] and clipped; 1/2 where the reward is not known."""
    mapped = (np.clip(outcome.reward, low, high) - low) / (high - low)
    return np.where(outcome.seen, mapped, 0.5)


def importance(outcome: Outcome, least: float = NEVER) -> Vector:
    """Return share / landed probability (K,), the factor that makes what a phase shows an unbiased estimate.

    A phase that draws sources with probabilities w gives source k a share s_k of its tokens with mean w_k, so x_k s_k /
    w_k has mean x_k. When one source fills the phase, s is 0 or 1 and this is the x_k 1[k drawn] / w_k of the papers;
    when all are drawn in proportion, it is x_k itself. Probabilities under `least` count as `least`; a source that
    could not be drawn gets 0.
    """
    factor: Vector = np.where(outcome.weights > 0, outcome.share / np.maximum(outcome.weights, least), 0.0)
    return factor


def log_total(values: Vector) -> float:
    """Return ln(sum of exp(values))."""
    largest = float(values.max())
    return largest + float(np.log(np.exp(values - largest).sum()))
