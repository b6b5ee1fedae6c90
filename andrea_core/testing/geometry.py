"""Hypothesis strategies for regions, clashing bounds, vectors and scores, drawn around an integer witness."""

import itertools
import math
from collections.abc import Callable

import attrs
import numpy as np
from hypothesis import strategies as st

from andrea_core.simplex import Region
from andrea_core.values import Vector

DENOMINATORS = (7, 10, 49, 100, 1000, 2**20, 10**9)
_SPECIAL = (0.0, -0.0, 1e-300, -1e-300, 5e-324, 1 / 3, 1.0, -1.0, 1e17, -1e17, 1e300, -1e300)


@attrs.frozen
class Stated:
    """Bounds as a user states them; `clash` says how they contradict: "floors", "caps", "crossed", or "" if not."""

    names: tuple[str, ...]
    floors: dict[str, float]
    caps: dict[str, float]
    exclude: tuple[str, ...] = ()
    clash: str = ""

    def region(self) -> Region:
        """Return the region of these bounds; raises InfeasibleRegion when they clash."""
        return Region.of(self.names, self.floors, self.caps, self.exclude)


@st.composite
def feasible_bounds(draw: st.DrawFn, min_sources: int = 1, max_sources: int = 12) -> Stated:
    """Draw bounds that hold a witness k / D with integers k, so that they are feasible by construction.

    Each source is free, bounded on one or both sides, pinned at its witness, excluded, within one unit or one float of
    it; now and then all floors or all caps equal the witness, which leaves a single point.
    """
    return draw(bounds_around(*_witness(draw, min_sources, max_sources)))


@st.composite
def witnesses(draw: st.DrawFn, min_sources: int, max_sources: int) -> tuple[tuple[str, ...], list[int], int]:
    """Draw names, integers k and their sum D: k / D is a point of the simplex."""
    return _witness(draw, min_sources, max_sources)


@st.composite
def bounds_around(draw: st.DrawFn, names: tuple[str, ...], witness: list[int], whole: int) -> Stated:
    """Draw bounds that hold the witness k / D."""
    forced = draw(st.sampled_from(("", "", "", "", "floors", "caps")))
    floors: dict[str, float] = {}
    caps: dict[str, float] = {}
    exclude = []
    for name, k in zip(names, witness, strict=True):
        low, high = draw(st.sampled_from(_SHAPES))(draw, k, whole)
        low = k / whole if forced == "floors" else low
        high = k / whole if forced == "caps" else high
        if low > 0:
            floors[name] = low
        if high == 0 and draw(st.booleans()):
            exclude.append(name)
        elif high < 1:
            caps[name] = high
    return Stated(names, floors, caps, tuple(exclude))


def regions(min_sources: int = 1, max_sources: int = 12) -> st.SearchStrategy[Region]:
    """Draw regions that are never empty; single points and ulp-wide bounds among them."""
    return feasible_bounds(min_sources, max_sources).map(Stated.region)


@st.composite
def regions_of(draw: st.DrawFn, names: tuple[str, ...]) -> Region:
    """Draw regions of the given sources, as `regions` does of any."""
    return draw(bounds_around(names, *_parts(draw, len(names)))).region()


@st.composite
def infeasible_bounds(draw: st.DrawFn, max_sources: int = 12) -> Stated:
    """Draw bounds without any weights: a witness whose floors or caps went two units too far, or crossed ones."""
    names, witness, whole = _witness(draw, 2, max_sources)
    clash = draw(st.sampled_from(("floors", "caps", "crossed")))
    i = draw(st.integers(0, len(names) - 1))
    if clash == "crossed":
        low = draw(st.integers(1, whole))
        high = draw(st.integers(0, low - 1))
        return Stated(names, {names[i]: low / whole}, {names[i]: high / whole}, (), clash)
    if clash == "floors":
        i = witness.index(min(witness))
        witness[i] += draw(st.integers(2, max(2, whole // 3)))
        return Stated(names, _shares(names, witness, whole), {}, (), clash)
    i = witness.index(max(witness))
    witness[i] -= draw(st.integers(2, max(2, witness[i]))) if witness[i] >= 2 else witness[i]
    caps = _shares(names, witness, whole)
    exclude = tuple(name for name in names if name not in caps)
    return Stated(names, {}, caps, exclude, clash)


@st.composite
def vectors(draw: st.DrawFn, region: Region, largest: float = 1e3) -> Vector:
    """Draw a finite vector (K,) to project: moderate, extreme, or set on the breakpoints of the projection."""
    if draw(st.booleans()):
        shift = draw(st.sampled_from((0.0, 0.1, -1 / 3, 7.0, 1000.0)))
        ends = [draw(st.sampled_from((low, high))) for low, high in zip(region.lower, region.upper, strict=True)]
        return np.array(ends) + shift
    special = tuple(value for value in _SPECIAL if abs(value) <= largest)
    one = st.one_of(st.floats(-1, 1), st.floats(-min(largest, 1e3), min(largest, 1e3)), st.sampled_from(special))
    return np.array(draw(st.lists(one, min_size=len(region.names), max_size=len(region.names))))


@st.composite
def positive_vectors(draw: st.DrawFn, region: Region) -> Vector:
    """Draw unnormalised weights (K,) that span many orders of magnitude, now and then with zeros."""
    exponent = st.floats(-9, 3).map(lambda power: 10.0**power)
    one = st.one_of(exponent, exponent, st.just(0.0)) if draw(st.booleans()) else exponent
    return np.array(draw(st.lists(one, min_size=len(region.names), max_size=len(region.names))))


@st.composite
def scores(draw: st.DrawFn, region: Region) -> Vector:
    """Draw scores (K,) for a linear objective, with ties and infinities."""
    one = st.one_of(st.floats(-10, 10), st.sampled_from((0.0, 1.0, math.inf, -math.inf)))
    return np.array(draw(st.lists(one, min_size=len(region.names), max_size=len(region.names))))


@st.composite
def weights(draw: st.DrawFn, region: Region) -> Vector:
    """Draw a legal weight vector (K,) of the region: a projection, a vertex, the centre, or a uniform draw."""
    kind = draw(st.sampled_from(("projection", "vertex", "centre", "draw")))
    if kind == "projection":
        return region.project(draw(vectors(region)))
    if kind == "vertex":
        return region.vertex(draw(scores(region)))
    if kind == "centre":
        return region.centre
    return region.sample(np.random.default_rng(draw(st.integers(0, 2**16))))


def _witness(draw: st.DrawFn, min_sources: int, max_sources: int) -> tuple[tuple[str, ...], list[int], int]:
    """Draw names, integers k and their sum D; k / D is a point of the simplex known without rounding."""
    n = draw(st.integers(min_sources, max_sources))
    return tuple(f"source-{i}" for i in range(n)), *_parts(draw, n)


def _parts(draw: st.DrawFn, count: int) -> tuple[list[int], int]:
    """Draw integers k and their sum D."""
    whole = draw(st.sampled_from(DENOMINATORS))
    cuts = sorted(draw(st.lists(st.integers(0, whole), min_size=count - 1, max_size=count - 1)))
    return [b - a for a, b in itertools.pairwise([0, *cuts, whole])], whole


def _shares(names: tuple[str, ...], parts: list[int], whole: int) -> dict[str, float]:
    return {name: part / whole for name, part in zip(names, parts, strict=True) if part}


def _between(draw: st.DrawFn, low: int, high: int, whole: int) -> float:
    return draw(st.integers(low, high)) / whole


_SHAPES: tuple[Callable[[st.DrawFn, int, int], tuple[float, float]], ...] = (
    lambda draw, k, whole: (0.0, 1.0),
    lambda draw, k, whole: (_between(draw, 0, k, whole), 1.0),
    lambda draw, k, whole: (0.0, _between(draw, k, whole, whole)),
    lambda draw, k, whole: (_between(draw, 0, k, whole), _between(draw, k, whole, whole)),
    lambda draw, k, whole: (k / whole, k / whole),
    lambda draw, k, whole: (0.0, 0.0 if k == 0 else 1.0),
    lambda draw, k, whole: (max(k - 1, 0) / whole, min(k + 1, whole) / whole),
    lambda draw, k, whole: (math.nextafter(k / whole, 0.0), min(math.nextafter(k / whole, 2.0), 1.0)),
)
