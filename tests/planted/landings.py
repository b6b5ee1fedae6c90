"""Weights as the core lands them, for tests that ask what becomes of an answer."""

import numpy as np

from andrea_core.guard import Blame, land
from andrea_core.values import Ledger, Moment, Sources

BLAME = Blame("policy", "mine", "./mine.py", 3, "all")


def names(n):
    return tuple(f"s{i}" for i in range(n))


def moment(region):
    zero = np.zeros(len(region.names), np.int64)
    return Moment(0, 3, "all", Sources(region.names, zero), region, region.centre, Ledger(zero, zero, zero * 1.0))


def landed(answer, region, landing="euclidean"):
    """Return the weights (K,) that an answer becomes on a region."""
    return land(answer, moment(region), [], landing, BLAME).weights
