"""The two invariants over more than a million weight vectors: python benchmarks soak [--regions N] [--seed N].

Invariants, each looked at bit by bit on every vector, against the bounds as they were stated: the vector lies on the
constrained simplex (no NaN, stated floors and caps kept, exact sum 1), and an excluded source has exactly +0.0. Regions
are built around a witness of integers, so that feasibility is known without the code under test.
"""

import argparse
import math
import time
import warnings
from collections import Counter
from collections.abc import Iterator

import attrs
import numpy as np
from numpy.random import Generator

from andrea_core.guard import Blame, land
from andrea_core.simplex import Region
from andrea_core.testing.worlds import draw_ledger, draw_outcome, make_sources
from andrea_core.values import Moment
from andrea_plugins.policies.ucb1 import Ucb1

KINDS = ("projection", "vertex", "draw", "UCB step", "hostile input")
DENOMINATORS = (7, 10, 49, 100, 1000, 2**20, 10**9)
SIZES = (1, 2, 3, 4, 6, 9, 12, 16, 16, 24, 40, 64)
WANTED, REGIONS = 1_000_000, 10_000
BLAME = Blame("policy", "soak", "benchmark", 0, "soak")


@attrs.frozen(eq=False)
class Stated:
    """Bounds (K,) as stated, feasible by construction."""

    lower: np.ndarray
    upper: np.ndarray

    def region(self) -> Region:
        names = tuple(f"s{i}" for i in range(len(self.lower)))
        floors = {name: float(x) for name, x in zip(names, self.lower, strict=True) if x > 0}
        caps = {name: float(x) for name, x in zip(names, self.upper, strict=True) if 0 < x < 1}
        return Region.of(names, floors, caps, [name for name, x in zip(names, self.upper, strict=True) if x == 0])


def bounds(rng: Generator) -> Stated:
    """Return bounds around a witness k / D: free, one- or two-sided, pinned, a unit or a float wide, excluded."""
    n, whole = int(rng.choice(SIZES)), int(rng.choice(DENOMINATORS))
    cuts = np.sort(rng.integers(0, whole, n - 1, endpoint=True))
    k = np.diff(np.concatenate([[0], cuts, [whole]]))
    below, above = rng.integers(0, k, endpoint=True) / whole, rng.integers(k, whole, endpoint=True) / whole
    exact = k / whole
    zero, one = np.zeros(n), np.ones(n)
    lows = np.array([zero, below, zero, below, exact, zero, np.maximum(k - 1, 0) / whole, np.nextafter(exact, 0.0)])
    highs = np.array([
        one, one, above, above, exact, np.where(k == 0, 0.0, 1.0),
        np.minimum(k + 1, whole) / whole, np.minimum(np.nextafter(exact, 2.0), 1.0),
    ])  # fmt: skip
    shape = rng.choice(8, n, p=rng.dirichlet(np.ones(8)))
    lower, upper = lows[shape, np.arange(n)], highs[shape, np.arange(n)]
    forced = rng.random()
    return Stated(exact if forced < 0.04 else lower, exact if forced > 0.96 else upper)


def vectors(region: Region, rng: Generator) -> Iterator[tuple[str, np.ndarray]]:
    """Give weight vectors of each kind, made by the code under test."""
    n = len(region.names)
    wishes = rng.normal(size=(25, n)) * 10.0 ** rng.uniform(-3, 1, (25, 1))
    wishes[:5] = np.where(rng.random((5, n)) < 0.5, region.lower, region.upper) + rng.choice([0.0, 0.1, -1 / 3, 7.0])
    for w in (*region.project(wishes[:19]), *(region.project(v) for v in wishes[19:])):
        yield "projection", w
    for p in 10.0 ** rng.uniform(-9, 3, (5, n)):
        yield "projection", region.project(p, "kl")
    for w in region.vertex(np.round(rng.normal(size=(20, n)), 1)):
        yield "vertex", w
    for w in (*region.sample(rng, 19), region.sample(rng)):
        yield "draw", w
    for w in walk(region, rng, 15):
        yield "UCB step", w
    for w in hostile(region, rng):
        yield "hostile input", w


def walk(region: Region, rng: Generator, steps: int) -> Iterator[np.ndarray]:
    """Walk with UCB1 through the core's guard; the rewards are odd ones: huge, tiny, absent."""
    policy, sources = (
        Ucb1(c=float(rng.choice([0.1, 1.4, 30.0])), step=float(rng.uniform(0.05, 1.0))),
        make_sources(region.names),
    )
    state, weights, ledger = policy.start(sources), region.centre, draw_ledger(len(region.names), rng)
    for phase in range(steps):
        moment = Moment(20 * phase, phase, "soak", sources, region, weights, ledger)
        weights = land(policy.propose(state, moment, rng), moment, [], "euclidean", BLAME).weights
        yield weights
        state = policy.update(state, draw_outcome(weights, phase, rng))


def hostile(region: Region, rng: Generator) -> Iterator[np.ndarray]:
    """Land answers that a careless plugin might give, and project vectors no plugin should: all finite."""
    n = len(region.names)
    size = rng.choice([0.0, 5e-324, 1e-300, 1e-17, 1.0, 1e17, 1e300, 1.7e308], (12, n))
    moment = Moment(0, 0, "soak", make_sources(region.names), region, region.centre, draw_ledger(n, rng))
    for answer in np.where(moment.active, size, 0.0):
        if not answer.any():
            answer[int(np.argmax(region.upper))] = 1.0
        yield land(answer, moment, [], str(rng.choice(["euclidean", "kl"])), BLAME).weights
    for v in size[:8] * rng.choice([-1.0, 1.0, -0.0], (8, n)):
        yield region.project(np.clip(v, -1e300, 1e300))


def faults(w: np.ndarray, stated: Stated, total: float) -> list[str]:
    """Return which of the invariants a vector breaks."""
    found = []
    if not ((w >= stated.lower) & (w <= stated.upper)).all():  # a NaN fails here too
        found.append("bounds")
    if math.fsum(w.tolist()) != total:
        found.append("sum")
    if np.signbit(w).any() or w[stated.upper == 0].any():
        found.append("positive zero")
    return found


@attrs.define
class Record:
    """What was seen."""

    vectors: Counter[str] = attrs.field(factory=Counter)
    broken: Counter[str] = attrs.field(factory=Counter)
    regions: set[bytes] = attrs.field(factory=set)
    sizes: Counter[int] = attrs.field(factory=Counter)
    points: int = 0
    within_rounding: int = 0
    excluded: int = 0

    def region(self, stated: Stated, rng: Generator) -> None:
        """Try one region and count."""
        region = stated.region()
        total = region.total if region.is_point else 1.0
        self.regions.add(stated.lower.tobytes() + stated.upper.tobytes())
        self.sizes[len(stated.lower)] += 1
        self.points += region.is_point
        self.within_rounding += total != 1.0
        if abs(total - 1.0) > 1e-12:
            self.broken["total of a point"] += 1
        for kind, w in vectors(region, rng):
            self.vectors[kind] += 1
            self.excluded += int(np.count_nonzero(stated.upper == 0))
            for fault in faults(w, stated, total):
                self.broken[f"{kind}: {fault}"] += 1

    def verdict(self) -> bool:
        """Print the counts; return whether the run was long enough, mixed enough, and unbroken."""
        count = self.vectors.total()
        print(f"weight vectors       {count:,}")
        for kind in KINDS:
            print(f"  {kind:<18} {self.vectors[kind]:>10,}  {self.vectors[kind] / count:.1%}")
        print(f"distinct regions     {len(self.regions):,}, {min(self.sizes)} to {max(self.sizes)} sources")
        print(f"  single points      {self.points:,}, {self.within_rounding:,} of them off 1 by rounding")
        print(f"excluded weights     {self.excluded:,} looked at")
        print(f"invariants broken    {self.broken.total():,}")
        for what, times in sorted(self.broken.items()):
            print(f"  {what}: {times:,}")
        long_enough = count >= WANTED and len(self.regions) >= REGIONS
        mixed = all(self.vectors[kind] * 10 >= count for kind in KINDS)
        return long_enough and mixed and not self.broken


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--regions", type=int, default=11_500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("error")
    record, start = Record(), time.monotonic()
    for number in range(arguments.regions):
        rng = np.random.default_rng((arguments.seed, number))
        record.region(bounds(rng), rng)
    print(f"soak: seed {arguments.seed}, numpy {np.__version__}, {time.monotonic() - start:.0f} s")
    passed = record.verdict()
    print("PASS" if passed else "FAIL: broken, too short, or a kind below a tenth")
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
