"""The part of the simplex that a region takes: against exact rationals, and its time."""

import math

import geometry_exact as exact
import numpy as np
from geometry_report import Report, median
from geometry_worlds import cut


def volume(report: Report) -> None:
    report.title("Volume fraction")
    worst = 0.0
    for n in range(8, 15):
        for kind in ("loose", "middling", "tight"):
            region = cut(n, kind, 4)
            truth = exact.log_volume_fraction(region)
            worst = max(worst, abs(math.expm1(float(region.log_volume_fraction()) - truth)))
    report.at_most("n = 8 to 14: relative error, exact rationals", worst, 1e-11)
    for n in (16, 64, 256):
        each = [
            median(lambda n=n, k=k, s=s: cut(n, k, s).log_volume_fraction(), 3)
            for k in ("loose", "tight")
            for s in (1, 2)
        ]
        spent = float(np.median(each)) * 1e3
        if n == 64:
            report.at_most("n = 64: time, region included", spent, 20.0, " ms")
        else:
            report.say(f"n = {n}: time, region included", f"{spent:.2f} ms")
