"""Planted bugs: each known way to get the geometry wrong must be caught by the property checks."""

from functools import reduce
from operator import add

import attrs
import numpy as np
import pytest
from hypothesis import Phase, given, settings, strategies as st

from andrea_core.errors import InfeasibleRegion
from andrea_core.simplex import Region, divergence, feasibility, fixup, projection, region as region_module, vertices
from andrea_core.simplex.box import Box
from andrea_core.testing.certificates import assert_kl_nearest, assert_member, assert_nearest
from andrea_core.testing.geometry import feasible_bounds, infeasible_bounds, positive_vectors, regions, scores, vectors

EXAMPLES = settings(max_examples=200, derandomize=True, database=None, deadline=None, phases=(Phase.generate,))


@EXAMPLES
@given(st.data())
def nearest(data):
    region = data.draw(regions())
    v = data.draw(vectors(region))
    w = region.project(v)
    assert_member(region, w)
    assert_nearest(region, v, w)


@EXAMPLES
@given(st.data())
def nearest_rows(data):
    region = data.draw(regions())
    rows = np.array([data.draw(vectors(region))] * 16)
    w = region.project(rows)[11]
    assert_member(region, w)
    assert_nearest(region, rows[11], w)


@EXAMPLES
@given(st.data())
def nearest_kl(data):
    region = data.draw(regions())
    p = data.draw(positive_vectors(region)) + 1e-12
    w = region.project(p, "kl")
    assert_member(region, w)
    assert_kl_nearest(region, p, w)


@EXAMPLES
@given(st.data())
def fixed_up(data):
    region = data.draw(regions())
    v = data.draw(vectors(region))
    w = fixup.fix_up(v, region.box)
    assert_member(region, w)
    assert fixup.fix_up(w, region.box).tobytes() == w.tobytes()
    rows = fixup.fix_up_rows(np.array([v, w] * 10), region.box)
    assert_member(region, rows[18])
    assert rows[19].tobytes() == w.tobytes()


@EXAMPLES
@given(st.data())
def best_vertex(data):
    region = data.draw(regions(max_sources=6))
    score = np.clip(data.draw(scores(region)), -10, 10)
    w = region.vertex(score)
    assert_member(region, w)
    assert region.face_dimension(w) == 0
    assert score @ w >= max(score @ x for x in region.vertices()) - 1e-12


@EXAMPLES
@given(feasible_bounds())
def never_refused_around_a_witness(stated):
    assert_member(stated.region(), stated.region().centre)


def never_refused():
    for n, share in ((10, 0.1), (100, 0.01), (1000, 0.001), (49, 1 / 49), (6, 1 / 6)):
        bounds = {f"s{i}": share for i in range(n)}
        assert Region.of(bounds, floors=bounds).is_point
        assert Region.of(bounds, caps=bounds).is_point
    never_refused_around_a_witness()


@EXAMPLES
@given(infeasible_bounds())
def explained(stated):
    try:
        stated.region()
    except InfeasibleRegion as error:
        clash = error.clash
    else:
        raise AssertionError("an empty region was not refused")
    for i in range(len(clash)):
        rest = clash[:i] + clash[i + 1 :]
        floors = {bound.source: bound.value for bound in rest if bound.kind == "floor"}
        caps = {bound.source: bound.value for bound in rest if bound.kind != "floor"}
        try:
            Region.of(stated.names, floors, caps)
        except InfeasibleRegion as error:
            raise AssertionError("the clash is not minimal") from error


CHECKS = [nearest, nearest_rows, nearest_kl, fixed_up, best_vertex, never_refused, explained]


@pytest.mark.parametrize("check", CHECKS)
def test_the_sound_code_passes_every_check(check):
    check()


def renormalised(w, box):
    clipped = np.clip(w, box.lower, box.upper) + 0.0
    return clipped / clipped.sum() if clipped.sum() else clipped


def last_is_the_rest(w, box):
    clipped = box.clip(w)
    clipped[-1] = 1.0 - clipped[:-1].sum()
    return clipped


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


def clip_without_positive_zero(self, w):
    return np.where(w < self.lower, self.lower, np.where(w > self.upper, self.upper, w))


def half_filled(scores, box):
    return 0.5 * (SOUND_BEST(scores, box) + SOUND_BEST(scores[::-1], box))


SOUND_BEST = vertices.best


def kl_renormalised(p, box):
    return fixup.fix_up(box.clip(p / p.sum()), box)


def kl_as_euclidean(p, box):
    return projection.euclidean(p / p.sum(), box)


def strict_sum(bounds):
    if reduce(add, bounds.lower.tolist()) > 1.0 or reduce(add, bounds.upper.tolist()) < 1.0:
        raise InfeasibleRegion("refused")
    return SOUND_JUDGE(bounds)


SOUND_JUDGE = feasibility.judge


def loose_sum(bounds):
    widened = attrs.evolve(bounds, lower=bounds.lower * 0.999, upper=np.minimum(1.0, bounds.upper + 1e-3))
    return SOUND_JUDGE(widened)


def all_floors_blamed(bounds, excess):
    clash = tuple(bounds.floor(i) for i in range(len(bounds.names)))
    return InfeasibleRegion("floors", clash=clash, excess=excess)


def unpolished(rows, at_upper, between, box):
    return rows - 1e-9


def project_by(single):
    return lambda patch: patch.setitem(region_module._PROJECTIONS, "euclidean", (single, projection.euclidean_rows))


def kl_by(single):
    return lambda patch: patch.setitem(region_module._PROJECTIONS, "kl", (single, divergence.kullback_leibler_rows))


def put(owner, name, wrong):
    return lambda patch: patch.setattr(owner, name, wrong)


MUTANTS = {
    "renormalise at the end": (put(projection, "fix_up", renormalised), nearest),
    "no fix-up": (put(projection, "fix_up", lambda w, box: box.clip(w)), nearest),
    "last is 1 - rest": (put(projection, "fix_up", last_is_the_rest), nearest),
    "negative zeros stay": (put(Box, "clip", clip_without_positive_zero), fixed_up),
    "clip-renormalise loop": (project_by(clip_renormalise_loop), nearest),
    "alternating projections": (project_by(alternating), nearest),
    "bisection stopped at 30 steps": (project_by(short_bisection), nearest),
    "neighbour's cap used": (project_by(neighbours_cap), nearest),
    "multiplier left at a breakpoint": (put(projection, "_refine", lambda v, up, between, box: v), nearest),
    "one refinement dropped in rows": (put(projection, "_refine_rows", unpolished), nearest_rows),
    "rows not fixed up": (put(projection, "fix_up_rows", lambda rows, box: box.clip(rows)), nearest_rows),
    "KL clipped after normalising": (kl_by(kl_renormalised), nearest_kl),
    "KL taken for Euclidean": (kl_by(kl_as_euclidean), nearest_kl),
    "KL not fixed up": (put(divergence, "fix_up", renormalised), nearest_kl),
    "worst vertex": (put(vertices, "best", lambda scores, box: SOUND_BEST(-scores, box)), best_vertex),
    "two fractions at a vertex": (put(vertices, "best", half_filled), best_vertex),
    "vertex not balanced": (put(vertices, "_balance", lambda w, order, k, box: w), best_vertex),
    "left-to-right sum decides": (put(region_module, "judge", strict_sum), never_refused),
    "ad hoc tolerance": (put(region_module, "judge", loose_sum), never_refused),
    "every floor blamed": (put(feasibility, "_floors_too_high", all_floors_blamed), explained),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_caught(name, monkeypatch):
    plant, check = MUTANTS[name]
    plant(monkeypatch)
    with pytest.raises((AssertionError, InfeasibleRegion)):
        check()
