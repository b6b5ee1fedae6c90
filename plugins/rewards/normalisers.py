"""Normalisers: rewards of any scale put on one that policies can use: quantiles, z-score, deviation, or as they are."""

import math

import attrs
import numpy as np

from andrea_core import RewardTraits, Scores, Vector, number, one_of, positive

KINDS = ("quantile", "recent", "zscore", "deviation", "none")
ANY = (-math.inf, math.inf)

LOW, HIGH = 0.2, 0.8
"""The quantiles that a quantile normaliser maps to -1 and 1 (Graves et al. 2017)."""

NEGLIGIBLE = 1e-12
"""A spread this small beside the scores themselves is rounding: they count as equal."""


@attrs.frozen(eq=False)
class Spread:
    """Where scores lie and how far apart, in moving averages over phases; 0 and 0 before the first."""

    centre: float
    deviation: float
    phases: int  # phases that gave a score


@attrs.frozen(eq=False)
class Reservoir:
    """A sample of past scores: each of all is as likely to be in it as any other (Vitter 1985, algorithm R), or a newer
    one more likely, by a factor e for a reservoir's size of scores (Aggarwal 2006, algorithm 2.1).
    """

    values: Vector  # (size,), NaN where nothing is yet
    seen: int  # scores so far


Scale = Spread | Reservoir | None


@attrs.frozen
class Normalised:
    """Settings of a reward whose scores are normalised, all sources' together.

    `normaliser = "quantile"`: the 20 % and 80 % quantiles of past scores become -1 and 1, what lies outside is clipped
    (Graves et al. 2017). Past scores are a reservoir of `reservoir` that forgets nothing: the published rule. Scores
    that fall for good, as gains do, end below the quantiles of their whole past, every source at -1. Range [-1, 1].
    `"recent"`: the same from a reservoir in which each new score takes the place of a random one, so that it forgets
    over about `reservoir` scores (that over K phases with K sources) and late scores are told apart. Range [-1, 1].
    `"zscore"`: (score - centre) / deviation, moving averages over phases. Range: at most sqrt(K / rate - 1) in size.
    `"deviation"`: score / (D sqrt(rate / (2 - rate))), the standard error of a moving average of scores with the moving
    root mean square D. Keeps the sign and 0. Range: at most sqrt((2 - rate) K) / rate in size.
    `"none"`: as it is. `rate` is the moving averages' newest part, 1 / n in phase n while that is more.
    The scores of the present phase count in what they are measured by, so that the first phase has a scale too: where
    all scores so far are equal, quantile and zscore give 0. A score that is not finite passes and changes nothing.
    """

    normaliser: str = one_of(*KINDS, default="none")
    rate: float = positive(default=0.1, at_most=1.0)
    reservoir: int = number(default=1000, at_least=2, at_most=1_000_000)

    def scale(self) -> Scale:
        """Return the normaliser's state before the first score."""
        return started(self.normaliser, self.reservoir)

    def rescaled(self, scale: Scale, scores: Scores, rng: np.random.Generator) -> tuple[Scores, Scale]:
        """Return the normalised scores (K,) and the next state."""
        return rescaled(self.normaliser, scale, scores, self.rate, rng)

    def declared(self, raw: RewardTraits) -> RewardTraits:
        """Return what becomes of the traits of the scores by normalising them."""
        return declared(self.normaliser, raw)


def started(kind: str, size: int) -> Scale:
    """Return the state of a normaliser of some kind before the first score, its reservoir of `size` scores."""
    if kind in ("quantile", "recent"):
        return Reservoir(np.full(size, np.nan), 0)
    return None if kind == "none" else Spread(0.0, 0.0, 0)


def declared(kind: str, raw: RewardTraits) -> RewardTraits:
    """Return the traits of normalised scores, given those of the raw ones."""
    if kind in ("quantile", "recent"):
        return attrs.evolve(raw, range=(-1.0, 1.0), unit="quantile range")
    if kind == "zscore":
        return attrs.evolve(raw, range=ANY, unit="standard deviations")
    return attrs.evolve(raw, unit="standard errors") if kind == "deviation" else raw


def rescaled(kind: str, scale: Scale, scores: Scores, rate: float, rng: np.random.Generator) -> tuple[Scores, Scale]:
    """Return the scores (K,) normalised, and the state with them in it; what is not finite stays and is not learnt."""
    known = np.isfinite(scores)
    if scale is None or not known.any():
        return scores, scale
    moved = (
        _sampled(kind, scale, scores[known], rng)
        if isinstance(scale, Reservoir)
        else _moved(kind, scale, scores[known], rate)
    )
    answer = np.array(scores)
    if isinstance(moved, Reservoir):
        answer[known] = between_quantiles(moved, scores[known])
    elif kind == "zscore":
        answer[known] = _standardised(scores[known], moved)
    elif moved.deviation > 0:
        answer[known] = scores[known] / moved.deviation * (2.0 / rate - 1.0) ** 0.5
    return answer, moved


def between_quantiles(reservoir: Reservoir, scores: Vector) -> Vector:
    """Return the scores on the line that maps the reservoir's quantiles to -1 and 1, clipped to there.

    Where the quantiles are one: -1 below it, 0 at it, 1 above it.
    """
    kept = reservoir.values[~np.isnan(reservoir.values)]
    size = float(np.abs(kept).max()) or 1.0  # divided out, so that no difference overflows
    low, high = np.quantile(kept / size, (LOW, HIGH))
    place = scores / size
    if high - low <= NEGLIGIBLE:
        middle = (low + high) / 2
        return np.where(np.abs(place - middle) <= NEGLIGIBLE, 0.0, np.sign(place - middle))
    return np.asarray(np.clip(2.0 * (place - low) / (high - low) - 1.0, -1.0, 1.0))


def root_mean_square(values: Vector) -> float:
    """Return the root mean square of the values that are not NaN, the largest factored out so that none overflows."""
    known = ~np.isnan(values)
    sizes = np.where(known, np.abs(values), 0.0)
    largest = float(sizes.max())
    return largest * float(np.sqrt(((sizes / largest) ** 2).sum() / known.sum())) if largest > 0 else 0.0


def _sampled(kind: str, reservoir: Reservoir, scores: Vector, rng: np.random.Generator) -> Reservoir:
    order = reservoir.seen + np.arange(len(scores))
    rivals = order + 1 if kind == "quantile" else np.minimum(order + 1, len(reservoir.values))
    place = np.where(order < len(reservoir.values), order, rng.integers(0, rivals))
    values = np.array(reservoir.values)
    stays = place < len(values)
    values[place[stays]] = scores[stays]  # of two for one place the later one stays, as one by one
    return Reservoir(values, reservoir.seen + len(scores))


def _moved(kind: str, spread: Spread, scores: Vector, rate: float) -> Spread:
    rate = max(rate, 1.0 / (spread.phases + 1))
    kept, new = (1.0 - rate) ** 0.5, rate**0.5
    if kind == "deviation":
        deviation = float(np.hypot(kept * spread.deviation, new * root_mean_square(scores)))
        return Spread(0.0, deviation, spread.phases + 1)
    largest = float(np.abs(scores).max()) or 1.0
    mean = largest * float((scores / largest).mean())
    way = mean - spread.centre
    deviation = math.hypot(kept * spread.deviation, new * root_mean_square(scores - mean), kept * new * way)
    # Not centre + rate * way, which keeps the rounding of a centre that was far off.
    return Spread((1.0 - rate) * spread.centre + rate * mean, deviation, spread.phases + 1)


def _standardised(scores: Vector, spread: Spread) -> Vector:
    if spread.deviation <= NEGLIGIBLE * np.abs(scores).max():
        return np.zeros(len(scores))
    return (scores - spread.centre) / spread.deviation
