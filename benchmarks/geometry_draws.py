"""Uniform draws against other samplers, and a million of them against exact moments."""

import geometry_peers as peers
import numpy as np
from geometry_report import Report, median
from geometry_worlds import cut
from scipy import stats

BATCH = 2000


def draws(report: Report, budget: float = 4.0) -> None:
    for n in (16, 64, 256):
        for kind in ("loose", "tight"):
            region = cut(n, kind, 1)
            report.title(f"Uniform draws, {n} sources, {kind} bounds: microseconds a draw")
            region.sample(np.random.default_rng(0), BATCH)
            ours = median(lambda region=region: region.sample(np.random.default_rng(0), BATCH), 5) / BATCH
            method = region.sampler.method + (", chained" if n >= 128 and region.sampler.method == "tilted" else "")
            report.say("ours", f"{ours * 1e6:12.2f}   ({method}, independent)")
            _against_hopsy(report, region, ours, budget, f"n = {n}, {kind}")
            _against_botorch(report, region, ours, f"n = {n}, {kind}")


def _against_hopsy(report: Report, region: object, ours: float, budget: float, label: str) -> None:
    try:
        found = peers.hopsy_seconds(region, budget)
    except ImportError:
        report.say("hopsy", "not installed")
        return
    effective = {name: draw / part for name, (draw, part) in found.items()}
    for name, (draw, part) in found.items():
        figures = f"{effective[name] * 1e6:12.1f}   an effective draw ({draw * 1e6:.1f} a draw, {part:.2%} effective)"
        report.say(f"hopsy, {name}", figures)
    report.at_least(f"{label}: faster than hopsy's best", min(effective.values()) / ours, 30.0)


def _against_botorch(report: Report, region: object, ours: float, label: str) -> None:
    try:
        theirs = peers.botorch_seconds(region, 40)
    except ImportError:
        report.say("botorch", "not installed")
        return
    report.say("botorch, hit-and-run", f"{theirs * 1e6:12.1f}   (32 steps a draw, burn-in not counted)")
    report.at_least(f"{label}: faster than botorch", theirs / ours, 100.0)


def moments(report: Report, count: int = 1_000_000) -> None:
    """A million draws: every mean within chance of the exact one, and the covariance as a whole."""
    for kind in ("loose", "tight"):
        region = cut(16, kind, 2)
        report.title(f"{count:,} draws at 16 sources, {kind} bounds")
        x = region.sample(np.random.default_rng(3), count)
        mean, covariance = np.asarray(region.mean()), np.asarray(region.covariance())
        deviation = x.mean(axis=0) - mean
        # One source is the rest of the others: it is left out, so that the covariance can be inverted.
        inner = covariance[:-1, :-1]
        square = count * float(deviation[:-1] @ np.linalg.solve(inner, deviation[:-1]))
        z = np.abs(deviation) / np.sqrt(np.diag(covariance) / count)
        whitened = np.linalg.solve(np.linalg.cholesky(inner), (x - mean)[:, :-1].T)
        spread = (whitened @ whitened.T) / count - np.eye(15)
        report.at_most(f"{kind}: largest z of the means", float(z.max()), 4.5)
        report.at_least(f"{kind}: chi-square p of the means", float(stats.chi2.sf(square, 15)), 1e-3, "")
        fourth = np.sqrt((whitened**4).mean(axis=1) - 1.0) / np.sqrt(count)
        report.at_most(f"{kind}: largest z of the variances", float((np.abs(np.diag(spread)) / fourth).max()), 4.5)
        off = np.abs(spread - np.diag(np.diag(spread))).max()
        report.at_most(f"{kind}: largest correlation left, whitened", float(off), 5.5 / np.sqrt(count))
