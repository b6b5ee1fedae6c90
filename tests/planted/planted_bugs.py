"""Bugs to plant: each known way to get the geometry wrong, more of the same kinds, and the check that must see each."""

import math
from contextlib import contextmanager
from functools import reduce
from operator import add

import attrs
import numpy as np
import planted_checks as checks
import pytest
from planted_sums import BUGS as SUM_BUGS, CHECKS as SUM_CHECKS
from planted_ties import BUGS as TIE_BUGS, CHECKS as TIE_CHECKS
from planted_uniformity import SAMPLING_BUGS, uniform

from andrea_core import guard
from andrea_core.errors import InfeasibleRegion
from andrea_core.simplex import (
    checking,
    divergence,
    feasibility,
    fixup,
    projection,
    region as region_module,
    sampling,
    vertices,
)
from andrea_core.simplex.box import Box

KILLED = AssertionError, InfeasibleRegion  # what a check raises when it sees a bug
SOUND_BEST, SOUND_JUDGE, SOUND_FIX_UP = vertices.best, feasibility.judge, fixup.fix_up


def renormalised(w, box, movable=None):
    clipped = np.clip(w, box.lower, box.upper) + 0.0
    return clipped / clipped.sum() if clipped.sum() else clipped


def last_is_the_rest(w, box, movable=None):
    clipped = box.clip(w)
    clipped[-1] = 1.0 - clipped[:-1].sum()
    return clipped


def first_takes_the_residual(w, box, movable=None):
    clipped = box.clip(w)
    clipped[0] += -math.fsum([*clipped.tolist(), -box.total])
    return clipped


def residual_shared_equally(w, box, movable=None):
    clipped = box.clip(w)
    return clipped + (1.0 - clipped.sum()) / len(clipped)


def in_single_precision(w, box, movable=None):
    return SOUND_FIX_UP(w, box, movable).astype(np.float32).astype(np.float64)


def clip_renormalise_loop(v, box):
    w = np.maximum(v - v.min(), 1e-9)
    for _ in range(200):
        w = box.clip(w / w.sum())
    return fixup.fix_up(w, box)


def alternating(v, box):
    w = v
    for _ in range(500):
        w = box.clip(w + (1.0 - w.sum()) / len(w))
    return fixup.fix_up(w, box)


def short_bisection(v, box):
    low, high = float((v - box.upper).min()), float((v - box.lower).max())
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if box.clip(v - middle).sum() > 1 else (low, middle)
    return fixup.fix_up(v - low, box)


def neighbours_cap(v, box):
    wrong = Box(box.lower, np.maximum(box.lower, np.roll(box.upper, 1)))
    return fixup.fix_up(projection.euclidean(v, wrong), box)


def caps_forgotten(v, box):
    return fixup.fix_up(projection.euclidean(v, Box(box.lower, np.ones_like(box.upper))), box)


def a_unit_above(self, w):
    return np.minimum(np.maximum(w, self.lower), np.nextafter(self.upper, 2.0)) + 0.0


def clip_without_positive_zero(self, w):
    return np.where(w < self.lower, self.lower, np.where(w > self.upper, self.upper, w))


def half_filled(scores, box):
    return 0.5 * (SOUND_BEST(scores, box) + SOUND_BEST(scores[::-1], box))


def smallest_first(scores, box):
    return SOUND_BEST(-np.argsort(np.argsort(box.width)) * 1.0 + 0.0 * scores, box)


def width_added(scores, box):
    w = SOUND_BEST(scores, box)
    return np.where(w == box.upper, box.lower + box.width, w)


def kl_renormalised(p, box):
    return fixup.fix_up(box.clip(p / p.sum()), box)


def kl_as_euclidean(p, box):
    return projection.euclidean(p / p.sum(), box)


def kl_factor_for_all(p, at_upper, between, box):
    return p * (box.total / p.sum())


def kl_rows_factor_for_all(rows, at_upper, between, box):
    return rows * (box.total / rows.sum(axis=1))[:, None], np.ones(len(rows), bool)


def strict_sum(bounds):
    if reduce(add, bounds.lower.tolist()) > 1.0 or reduce(add, bounds.upper.tolist()) < 1.0:
        raise InfeasibleRegion("refused")
    return SOUND_JUDGE(bounds)


def loose_sum(bounds):
    widened = attrs.evolve(bounds, lower=bounds.lower * 0.999, upper=np.minimum(1.0, bounds.upper + 1e-3))
    return SOUND_JUDGE(widened)


def never_refuses(bounds):
    try:
        return SOUND_JUDGE(bounds)
    except InfeasibleRegion:
        return SOUND_JUDGE(attrs.evolve(bounds, lower=0.0 * bounds.lower, upper=0.0 * bounds.upper + 1.0))


def not_tightened(lower, upper, above, below):
    return Box(lower, upper)


def tightened_the_wrong_way(lower, upper, above, below):
    return Box(lower, np.minimum(upper, lower + 0.5 * above))


def all_floors_blamed(bounds, excess):
    clash = tuple(bounds.floor(i) for i in range(len(bounds.names)))
    return InfeasibleRegion("floors", clash=clash, excess=excess)


def unpolished(rows, at_upper, between, box):
    return rows - 1e-9, np.ones(len(rows), bool)


def barred_mass_dropped(answer, moment, blame):
    return np.where(moment.active, np.asarray(answer, np.float64), 0.0) + 1e-12 * moment.active


def trusting(weights, moment, landing):
    return weights


def project_by(single):
    return lambda patch: patch.setitem(region_module._PROJECTIONS, "euclidean", (single, projection.euclidean_rows))


def searched(name, wrong):
    """Plant a bug in the search over breakpoints, and leave all vectors to it."""

    def plant(patch):
        patch.setattr(projection, "by_newton", lambda v, box: None)
        patch.setattr(projection, name, wrong)

    return plant


def kl_by(single):
    return lambda patch: patch.setitem(region_module._PROJECTIONS, "kl", (single, divergence.kullback_leibler_rows))


def put(*where):
    return lambda patch: patch.setattr(*where)


BUGS = {
    "renormalise at the end": (searched("fix_up", renormalised), checks.nearest),
    "no fix-up": (searched("fix_up", lambda w, box, movable=None: box.clip(w)), checks.nearest),
    "last is 1 - rest": (searched("fix_up", last_is_the_rest), checks.nearest),
    "the first takes the residual": (searched("fix_up", first_takes_the_residual), checks.nearest),
    "residual shared equally": (searched("fix_up", residual_shared_equally), checks.nearest),
    "weights in single precision": (searched("fix_up", in_single_precision), checks.nearest),
    "negative zeros stay": (put(Box, "clip", clip_without_positive_zero), checks.fixed_up),
    "caps a unit too high": (put(Box, "clip", a_unit_above), checks.fixed_up),
    "clip-renormalise loop": (project_by(clip_renormalise_loop), checks.nearest),
    "alternating projections": (project_by(alternating), checks.nearest),
    "bisection stopped at 30 steps": (project_by(short_bisection), checks.nearest),
    "neighbour's cap used": (project_by(neighbours_cap), checks.nearest),
    "caps forgotten": (project_by(caps_forgotten), checks.nearest),
    "multiplier forgotten": (searched("_moved", lambda v, at_upper, between, box: v), checks.nearest),
    "one refinement dropped in rows": (put(projection, "_refine_rows", unpolished), checks.nearest_rows),
    "rows not fixed up": (put(projection, "fix_up_rows", lambda rows, box: box.clip(rows)), checks.nearest_rows),
    "legal rows moved": (put(checking, "keep_legal", lambda given, made, box: made), checks.legal_weights_return),
    "KL clipped after normalising": (kl_by(kl_renormalised), checks.nearest_kl),
    "KL taken for Euclidean": (kl_by(kl_as_euclidean), checks.nearest_kl),
    "KL not fixed up": (put(divergence, "fix_up", renormalised), checks.nearest_kl),
    "KL factor over all sources": (put(divergence, "_moved", kl_factor_for_all), checks.nearest_kl),
    "KL factor over all sources, rows": (put(divergence, "_refine_rows", kl_rows_factor_for_all), checks.nearest_kl),
    "worst vertex": (put(vertices, "best", lambda scores, box: SOUND_BEST(-scores, box)), checks.best_vertex),
    "two fractions at a vertex": (put(vertices, "best", half_filled), checks.best_vertex),
    "vertex filled by width": (put(vertices, "best", smallest_first), checks.best_vertex),
    "vertex filled to lower + width": (put(vertices, "best", width_added), checks.corners_are_exact),
    "vertex not balanced": (put(vertices, "_balance", lambda w, order, k, box: w), checks.best_vertex),
    "bounds not tightened": (put(feasibility, "_tighten", not_tightened), checks.bounds_are_attained),
    "bounds tightened too far": (put(feasibility, "_tighten", tightened_the_wrong_way), checks.bounds_are_attained),
    "left-to-right sum decides": (put(region_module, "judge", strict_sum), checks.never_refused),
    "ad hoc tolerance": (put(region_module, "judge", loose_sum), checks.never_refused),
    "empty regions let through": (put(region_module, "judge", never_refuses), checks.explained),
    "every floor blamed": (put(feasibility, "_floors_too_high", all_floors_blamed), checks.explained),
    "draws not fixed up": (put(sampling, "fix_up_rows", lambda rows, box: rows), checks.drawn),
    "a single draw not fixed up": (put(sampling, "fix_up", lambda w, box: w), checks.drawn),
    "mass on excluded sources dropped": (put(guard, "normalised", barred_mass_dropped), checks.guarded),
    "landing trusts the policy": (put(guard, "landed", trusting), checks.guarded),
    "landing only fixes up": (put(guard, "NEAR", 10.0), checks.guarded),
    **{name: (put(*where), uniform) for name, where in SAMPLING_BUGS.items()},
    **{name: (put(*where), check) for name, (*where, check) in (SUM_BUGS | TIE_BUGS).items()},
}
CHECKS = [*checks.CHECKS, uniform, *SUM_CHECKS, *TIE_CHECKS]


@contextmanager
def planted(name):
    """Plant a bug for a while; what the core remembers of regions is forgotten before and after."""
    with pytest.MonkeyPatch.context() as patch:
        BUGS[name][0](patch)
        forget()
        yield BUGS[name][1]
    forget()


def forget():
    for remembering in (feasibility._verdict, sampling.prepare):
        getattr(remembering, "cache_clear", bool)()
