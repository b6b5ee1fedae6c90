"""The geometry against its peers and its bars, side by side in one run: python benchmarks geometry [SECTION ...].

Sections: projection, vertex, draws, moments, volume, schedule; all of them by default. Times are processor
seconds, so that other work on the machine weighs little: medians over cases, of the best of three turns each, in
rotation. A bar that is missed is said, and the exit code is then 1. The peers are called by their native interfaces,
OSQP and Clarabel also set up once a region, so that only the vector changes.
"""

import argparse
import math
import platform
from functools import partial

import geometry_exact as exact
import geometry_peers as peers
import numpy as np
import scipy
from geometry_draws import draws, moments
from geometry_peers import Solve
from geometry_report import Calls, Report, median, side_by_side
from geometry_schedule import schedule
from geometry_volume import volume
from geometry_worlds import cut, near

from andrea_core.simplex import Region

ROWS = 2000
VECTORS = 20


def projection(report: Report) -> None:
    """Two jobs, each library in its quickest form: one vector at a time, and many vectors on one region."""
    for n, bar, row_bar in ((16, 8.0, 5.0), (64, 20.0, 10.0)):
        report.title(f"Euclidean projection, {n} sources: processor time a vector")
        cases, worst, absent = _projections(n)
        spent = side_by_side(cases, VECTORS)
        for line in sorted(absent):
            report.say(line, "not installed")
        single = {name: time for name, time in spent.items() if name != "ours"}
        spent["ours, in rows"] = row = _row(n)
        for name, time in spent.items():
            report.say(name, f"{time * 1e6:9.1f} us   largest error {worst[name]:.1e}")
        fresh = min((name for name in single if "once" not in name), key=single.__getitem__)
        fastest = min(single, key=single.__getitem__)
        report.at_least(f"n = {n}: faster than {fresh}", single[fresh] / spent["ours"], bar)
        report.at_least(f"n = {n}: in rows, than {fastest}", single[fastest] / spent["ours, in rows"], bar)
        report.say(f"n = {n}: one at a time, than {fastest}", f"{single[fastest] / spent['ours']:.3g}x")
        report.at_most(f"n = {n}: error against exact rationals", max(worst["ours"], worst["ours, in rows"]), 1e-15)
        report.at_most(f"n = {n}: a row of {ROWS}", row * 1e6, row_bar, " us")


def _projections(n: int) -> tuple[list[Calls], dict[str, float], set[str]]:
    """Return the calls to time, a case a region, the largest error by name, and who is not installed."""
    cases: list[Calls] = []
    worst: dict[str, float] = {}
    absent: set[str] = set()
    rng = np.random.default_rng(n)
    for region in _regions(n):
        batch = np.array([near(region, rng) for _ in range(VECTORS)])
        assert_bitwise(region, batch)
        whole = np.tile(batch, (ROWS // VECTORS, 1))
        truths = [exact.projection(v, region) for v in batch]
        solve = {"ours": region.project} | peers.solvers(region, absent.add)
        for name, call in [*solve.items(), ("ours, in rows", None)]:
            answers = [call(v) for v in batch] if call else region.project(whole)
            errors = [exact.error(w, truth) for w, truth in zip(answers, truths, strict=False)]
            worst[name] = max(worst.get(name, 0.0), *errors)
        calls = {name: partial(_each, call, batch) for name, call in solve.items()}
        cases.append(calls)
    return cases, worst, absent


def _each(call: Solve, batch: np.ndarray) -> None:
    for v in batch:
        call(v)


def _regions(n: int) -> list[Region]:
    return [cut(n, kind, seed) for kind in ("middling", "tight") for seed in range(6)]


def _row(n: int) -> float:
    """Return the median seconds a row in batches of ROWS."""
    rng = np.random.default_rng(n + 1)
    times = []
    for region in _regions(n):
        rows = np.array([near(region, rng) for _ in range(100)] * (ROWS // 100))
        times.append(median(lambda region=region, rows=rows: region.project(rows), 5) / ROWS)
    return float(np.median(times))


def assert_bitwise(region: Region, batch: np.ndarray) -> None:
    """Stop unless rows and single vectors land on the region bit for bit."""
    for w in (*region.project(batch), *(region.project(v) for v in batch)):
        assert region.check(w) == []
        assert math.fsum(w.tolist()) == 1.0


def vertex(report: Report) -> None:
    for n in (16, 64, 256):
        report.title(f"Best vertex, {n} sources")
        cases, gap = [], 0.0
        for seed in range(12):
            region, score = cut(n, "middling", seed), np.random.default_rng(seed).normal(size=n)
            cases.append(
                {
                    "ours": lambda r=region, s=score: r.vertex(s),
                    "linprog": lambda r=region, s=score: peers.linear_program(r, s),
                }
            )
            ours, theirs = (math.fsum((score * call()).tolist()) for call in cases[-1].values())
            gap = max(gap, theirs - ours)
        spent = side_by_side(cases)
        for name, time in spent.items():
            report.say(name, f"{time * 1e6:9.1f} us")
        report.at_least(f"n = {n}: faster than linprog", spent["linprog"] / spent["ours"], 50.0)
        report.at_most(f"n = {n}: objective short of linprog's by", max(gap, 0.0), 1e-15)


SECTIONS = {
    "projection": projection,
    "vertex": vertex,
    "draws": draws,
    "moments": moments,
    "volume": volume,
    "schedule": schedule,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="geometry", description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"any of {', '.join(SECTIONS)}")
    chosen = parser.parse_args().sections or list(SECTIONS)
    unknown = [name for name in chosen if name not in SECTIONS]
    if unknown:
        parser.error(f"no section is called {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    print(f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}")
    report = Report()
    for name in chosen:
        SECTIONS[name](report)
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
