"""The region: the part of the simplex that floors, caps and exclusions leave, immutable and only ever shrinking."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import attrs
import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from andrea_core.simplex import centres, checking, vertices
from andrea_core.simplex.bounds import Bounds
from andrea_core.simplex.box import Box
from andrea_core.simplex.divergence import kullback_leibler, kullback_leibler_rows
from andrea_core.simplex.feasibility import Verdict, judge
from andrea_core.simplex.fixup import fix_up
from andrea_core.simplex.groups.stated import Group
from andrea_core.simplex.measured import Measured
from andrea_core.simplex.polytope.rows import Row
from andrea_core.simplex.projection import euclidean, euclidean_rows
from andrea_core.simplex.sampling import Sampler, prepare
from andrea_core.values import Mask, Vector

_PROJECTIONS = {"euclidean": (euclidean, euclidean_rows), "kl": (kullback_leibler, kullback_leibler_rows)}

KEPT = 4  # cuts that a region remembers: a run makes the same ones phase after phase


class Active(NamedTuple):
    """Which bounds hold with equality, each (K,)."""

    lower: Mask
    upper: Mask


class Ball(NamedTuple):
    """The largest ball inside a region, within its affine hull."""

    centre: Vector
    radius: float


@attrs.frozen(eq=False, slots=False)
class Region(Measured):
    """The set { w : sum w = 1, lower <= w <= upper } over named sources; made by `Region.of`, cut by `restrict`.

    `stated` holds the bounds as given, with their reasons; `lower` and `upper` (K,) are the effective ones, tightened
    by what the others imply, and are what every method keeps bitwise. Every weight vector that a method returns has
    `math.fsum` equal to 1.0 (to `total` when the region is a point that rounding keeps off 1), its excluded sources at
    +0.0, and no NaN.
    """

    stated: Bounds
    _verdict: Verdict = attrs.field(repr=False)

    @classmethod
    def of(
        cls,
        names: Iterable[str],
        floors: Mapping[str, float] | None = None,
        caps: Mapping[str, float] | None = None,
        exclude: Iterable[str] = (),
        reason: str = "",
        groups: Iterable[Group] = (),
        rows: Iterable[Row] = (),
    ) -> "Region":
        """Return the region of the named sources under floors and caps in [0, 1] and exclusions.

        `groups` bound the summed weight of sources, no source in two of them; `rows` are any other linear bounds, which
        make an approximate region. `reason` says who states the bounds and returns in errors. Raises ScenarioError for
        an unknown source or a bound outside [0, 1], InfeasibleRegion when no weights satisfy all bounds.
        """
        stated = Bounds.free(names).restrict(floors or {}, caps or {}, exclude, reason)
        return cls._judged(stated.combine(groups, rows, reason))

    @classmethod
    def _judged(cls, stated: Bounds) -> "Region":
        if stated.groups or stated.rows:
            from andrea_core.simplex.combined import region_of

            return region_of(stated)
        return cls(stated, judge(stated))

    def restrict(
        self,
        floors: Mapping[str, float] | None = None,
        caps: Mapping[str, float] | None = None,
        exclude: Iterable[str] = (),
        reason: str = "",
        groups: Iterable[Group] = (),
        rows: Iterable[Row] = (),
    ) -> "Region":
        """Return the intersection with further bounds; raises as `Region.of`."""
        floors, caps, exclude = floors or {}, caps or {}, (exclude,) if isinstance(exclude, str) else tuple(exclude)
        if groups or rows:
            return self._judged(self.stated.restrict(floors, caps, exclude, reason).combine(groups, rows, reason))
        kinds = tuple(map(type, (*floors.values(), *caps.values())))  # True is no 1.0: it is refused
        given = tuple(floors.items()), tuple(caps.items()), exclude, reason, kinds
        try:
            known = self._cuts.get(given)
        except TypeError:  # something that is no number: the next line says which
            known = None
        if known is None:
            known = self._cuts[given] = self._judged(self.stated.restrict(floors, caps, exclude, reason))
            if len(self._cuts) > KEPT:
                del self._cuts[next(iter(self._cuts))]
        return known

    @cached_property
    def _cuts(self) -> dict[Any, "Region"]:
        return {}

    @property
    def approximate(self) -> bool:
        """Whether some methods are approximate; never without rows."""
        return False

    @property
    def box(self) -> Box:
        """The effective bounds and the numbers that follow from them."""
        return self._verdict.box

    @property
    def names(self) -> tuple[str, ...]:
        """The sources, in the scenario's order."""
        return self.stated.names

    @property
    def lower(self) -> Vector:
        """(K,) effective lower bounds, read-only."""
        return self.box.lower

    @property
    def upper(self) -> Vector:
        """(K,) effective upper bounds, read-only; 0.0 excludes."""
        return self.box.upper

    @property
    def total(self) -> float:
        """What weights sum to: 1.0, but for a point that the bounds keep off 1 within rounding."""
        return self.box.total

    @property
    def dimension(self) -> int:
        """Dimension of the region: the free sources less one, 0 for a point."""
        return self.box.dimension

    @property
    def is_point(self) -> bool:
        """Whether one weight vector only is left."""
        return self.box.is_point

    @property
    def rounding(self) -> float:
        """By how much the bounds miss leaving exactly one point, when the region is one within rounding; 0.0 otherwise.

        Negative: in exact arithmetic no weights would be left.
        """
        return self._verdict.rounding

    @property
    def note(self) -> str:
        """A sentence when the region is one point within rounding, else empty."""
        why = f"the bounds leave one point within rounding (exact slack {self.rounding:.3g})"
        return why if self.rounding else ""

    @cached_property
    def centre(self) -> Vector:
        """(K,) the point with equal relative slack everywhere, in the relative interior; a good start."""
        return centres.relative(self.box)

    def chebyshev(self) -> Ball:
        """Return the centre (K,) and the radius of a largest ball inside the region (Euclidean, in the affine hull)."""
        return Ball(*centres.chebyshev(self.box))

    def project(self, v: npt.ArrayLike, divergence: str = "euclidean") -> Vector:
        """Return the nearest weights to v (K,), or to each row of v (N, K); legal weights come back bit for bit.

        `divergence` "euclidean" takes any finite v; "kl" takes v >= 0 of any scale and minimises sum w log(w / v), the
        same point as under every f-divergence. Zeros of v stay at their floors while the others can carry the mass.
        Rows of a batch are worked on together: they may differ from the same row alone by a unit in the last place.
        Raises ValueError for NaN, infinity, negative entries under "kl", a wrong shape.
        """
        if divergence not in _PROJECTIONS:
            raise ValueError(f"divergence must be one of {', '.join(_PROJECTIONS)}, got {divergence!r}")
        box = self._verdict.box
        single, batch = _PROJECTIONS[divergence]
        values = checking.shaped(v, len(box.lower))
        if values.ndim == 1:
            return single(values, box)
        checking.refuse_unless_finite(values)
        return checking.keep_legal(values, batch(values, box), box)

    def vertex(self, scores: npt.ArrayLike) -> Vector:
        """Return the vertex that maximises the sum of scores * w, for scores (K,) or each row of scores (N, K).

        At most one source lies strictly between its bounds. Ties go to the smaller index. Infinite scores rank first or
        last; raises ValueError for NaN.
        """
        values = checking.ranked(scores, len(self.names))
        return vertices.best(values, self.box) if values.ndim == 1 else vertices.best_rows(values, self.box)

    def vertices(self, limit: int = 10_000) -> Vector:
        """Return all vertices (V, K), in falling lexicographic order; AndreaError if there are more than `limit`."""
        return vertices.every(self.box, limit)

    @cached_property
    def sampler(self) -> Sampler:
        """How draws are made: `sampler.method` and its predicted `sampler.acceptance`."""
        return prepare(self.box)

    def sample(self, rng: Generator, n: int | None = None) -> Vector:
        """Return one draw (K,) or n draws (n, K), independent and exactly uniform on the region.

        Raises TypeError unless rng is a numpy Generator, ValueError for a negative n.
        """
        rows = self.sampler.draw(checking.generator(rng), checking.count(n))
        return rows[0] if n is None else rows

    def contains(self, w: npt.ArrayLike) -> bool:
        """Return whether w (K,) is legal: every bound bitwise, no negative zero, exact sum equal to `total`."""
        values = checking.numbers(w)
        return bool(values.shape == self.lower.shape and self.box.holds(values))

    def check(self, w: npt.ArrayLike) -> list[str]:
        """Return what is wrong with w (K,), one sentence each, empty for legal weights."""
        values = checking.numbers(w)
        return [] if self.contains(values) else checking.violations(values, self.names, self.box, self._why())

    def _why(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.lower_reasons, self.upper_reasons

    def offence(self, w: Vector) -> float:
        """Return the largest amount by which w (K,) breaks a bound or misses the sum, 0.0 for none."""
        return max(float(np.maximum(self.lower - w, w - self.upper).max()), abs(checking.summed(w) - self.total), 0.0)

    def settle(self, w: Vector) -> Vector:
        """Return w (K,), which offends by rounding at most, moved into the region by about as much."""
        return fix_up(w, self.box)

    def active(self, w: npt.ArrayLike) -> Active:
        """Return which effective bounds w (K,) meets with equality; ValueError for another shape, rows among them."""
        values = checking.single(w, len(self.names))
        return Active(np.asarray(values == self.lower), np.asarray(values == self.upper))

    def face_dimension(self, w: npt.ArrayLike) -> int:
        """Return the dimension of the smallest face that holds w (K,): free sources off their bounds less one."""
        lower, upper = self.active(w)
        return max(int(np.count_nonzero(~lower & ~upper & self.box.is_free)) - 1, 0)
