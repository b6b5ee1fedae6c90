"""The facts of a region in words: dimension, share of the simplex, ball, sampler, vertices."""

import math

from andrea_core.errors import AndreaError
from andrea_core.simplex import Estimate, Region
from andrea_core.simplex.retiring import dropped
from andrea_core.values import Vector

COUNTED = 10_000
"""Most vertices that are counted one by one."""


def facts(region: Region) -> list[tuple[str, str]]:
    """Return label and text of each fact, in the order in which one asks for them."""
    count = len(region.names)
    open_ = int((region.upper > 0).sum())
    free = int(region.box.is_free.sum())
    ball = region.chebyshev()
    found = [
        ("dimension", f"{region.dimension}; {open_} of {plural(count)} open, {free} of them free to move"),
        ("share", _share(region)),
        ("largest ball", f"radius {number(ball.radius)}"),
        ("uniform draws", _draws(region)),
        ("vertices", _vertices(region)),
    ]
    notes = [region.note] if region.note else []
    if region.approximate:
        notes.append("linear rows are met approximately, not bit for bit")
    return found + [("note", text) for text in (*notes, *dropped(region))]


def corners(region: Region, limit: int) -> Vector | None:
    """Return the vertices (V, K) when they are at most `limit`, else None."""
    try:
        return region.vertices(limit)
    except AndreaError:
        return None


def most_vertices(free: int) -> int:
    """Return the most vertices of a region without group bounds: the most edges of a cube that a hyperplane cuts.

    Every vertex has at most one source between its bounds, so that it lies on an edge of the box. Source: O'Neil 1971.
    """
    return 1 if free < 2 else (free - free // 2) * math.comb(free, free // 2)


def plural(count: int, what: str = "source") -> str:
    """Return a number of things in words: 1 source, 2 sources."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def _free(count: int) -> str:
    return "1 free source" if count == 1 else f"{count} free sources"


def number(value: float) -> str:
    """Return a number with four digits, no more than it needs."""
    return f"{value:.4g}"


def summed(region: Region) -> bool:
    """Return whether the region has bounds on sums of sources."""
    return bool(region.stated.groups or region.stated.rows)


def mean(region: Region) -> Estimate | None:
    """Return the mean (K,) of uniform draws; None where it cannot be told."""
    try:
        return region.mean_estimate()
    except AndreaError:
        return None


def about(found: Estimate) -> str:
    """Return how sure a mean or covariance from draws is, empty for one that no draws went into."""
    return f"estimated from draws, standard error at most {found.error.max():.1g}" if found.approximate else ""


HOW = {
    "exact": "exact rationals",
    "fourier": "fourier series",
    "quadrature": "quadrature over the groups' totals",
    "draws": "estimated from draws",
}


def _share(region: Region) -> str:
    try:
        volume = region.log_volume_fraction()
    except AndreaError as error:
        return f"not known: {error}"
    if volume.dimension == 0:
        return "1: a point is all of the simplex of dimension 0"
    part = f"{math.exp(volume.value):.6g}" if volume.value > -700 else f"10^{volume.value / math.log(10):.3f}"
    if volume.approximate:
        part = f"about {math.exp(volume.value):.2g}" if volume.value > -700 else f"about {part}"
    off = "standard error" if volume.approximate else "error at most"
    return (
        f"{part} of the simplex over the {_free(int(region.box.is_free.sum()))} "
        f"(log {volume.value:.6g}, {off} {volume.error:.1g}, {HOW[volume.method]})"
    )


def _draws(region: Region) -> str:
    sampler = region.sampler
    if sampler.method == "point":
        return "by point: there is one weight vector, and no draw is random"
    if sampler.method == "slices":
        return "by slices: in each group of fixed sum on its own"
    if sampler.method == "hit-and-run":
        return "by hit-and-run: steps of a random walk, nearly uniform, none of them refused"
    return f"by {sampler.method}, about {number(sampler.acceptance)} of the attempts accepted (predicted)"


def _vertices(region: Region) -> str:
    try:
        return str(len(region.vertices(COUNTED)))
    except AndreaError as error:
        if summed(region):
            return f"not counted: {error}"
    return f"more than {COUNTED}, at most {most_vertices(int(region.box.is_free.sum()))}"
