"""Property checks of the geometry as plain calls, to be tried on planted bugs; each counts its examples."""

import os
from collections import Counter

import numpy as np
from hypothesis import Phase, given, settings, strategies as st

from andrea_core.errors import InfeasibleRegion, PluginError
from andrea_core.guard import Blame, land
from andrea_core.simplex import Region, fixup
from andrea_core.testing.certificates import assert_kl_nearest, assert_member, assert_nearest
from andrea_core.testing.geometry import (
    feasible_bounds,
    infeasible_bounds,
    positive_vectors,
    regions,
    scores,
    vectors,
    weights,
)
from andrea_core.values import Ledger, Moment, Sources

EXAMPLES = int(os.environ.get("ANDREA_MUTATION_EXAMPLES", "200"))
SEEN: Counter[str] = Counter()
BLAME = Blame("policy", "planted", "a test", 0, "a stage")


def property_check(body):
    """Return a call that tries the body on generated data; the same examples every time, and no shrinking."""

    @settings(max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, phases=(Phase.generate,))
    @given(st.data())
    def check(data):
        SEEN[body.__name__] += 1
        body(data)

    check.__name__ = check.__qualname__ = body.__name__
    return check


@property_check
def nearest(data):
    region = data.draw(regions())
    v = data.draw(vectors(region))
    for share in (1.0, 1.0 / 3.0, 0.7, 0.1, 1e-3):  # thirds and tenths round: few sums come out right by luck
        w = region.project(share * v)
        assert_member(region, w)
        assert_nearest(region, share * v, w)


@property_check
def nearest_rows(data):
    region = data.draw(regions())
    rows = np.array([data.draw(vectors(region))] * 16)
    w = region.project(rows)[11]
    assert_member(region, w)
    assert_nearest(region, rows[11], w)


@property_check
def nearest_kl(data):
    region = data.draw(regions())
    p = data.draw(positive_vectors(region)) + 1e-12
    for w in (region.project(p, "kl"), region.project([p] * 16, "kl")[11]):
        assert_member(region, w)
        assert_kl_nearest(region, p, w)


@property_check
def legal_weights_return(data):
    region = data.draw(regions())
    w = data.draw(weights(region))
    for divergence in ("euclidean", "kl"):
        assert region.project(w, divergence).tobytes() == w.tobytes()
        assert region.project([w] * 20, divergence)[7].tobytes() == w.tobytes()


@property_check
def fixed_up(data):
    region = data.draw(regions())
    v = data.draw(vectors(region))
    w = fixup.fix_up(v, region.box)
    assert_member(region, w)
    assert fixup.fix_up(w, region.box).tobytes() == w.tobytes()
    rows = fixup.fix_up_rows(np.array([v, w] * 10), region.box)
    assert_member(region, rows[18])
    assert rows[19].tobytes() == w.tobytes()


@property_check
def best_vertex(data):
    region = data.draw(regions(max_sources=6))
    score = np.clip(data.draw(scores(region)), -10, 10)
    w = region.vertex(score)
    assert_member(region, w)
    assert region.face_dimension(w) == 0
    assert score @ w >= max(score @ x for x in region.vertices()) - 1e-12


@property_check
def corners_are_exact(data):
    """At a vertex of a region with odd bounds all sources but one stand on a bound to the last bit."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n = data.draw(st.integers(2, 40))
    witness = rng.dirichlet(np.ones(n))
    names = [f"s{i}" for i in range(n)]
    lower, upper = witness * 0.3 * rng.random(n), np.minimum(1.0, witness * (1.0 + 2.0 * rng.random(n)))
    region = Region.of(names, dict(zip(names, lower, strict=True)), dict(zip(names, upper, strict=True)))
    w = region.vertex(rng.normal(size=n))
    assert_member(region, w)
    assert np.count_nonzero((w != region.lower) & (w != region.upper)) <= 1


@property_check
def bounds_are_attained(data):
    region = data.draw(regions())
    i = data.draw(st.integers(0, len(region.names) - 1))
    score = np.zeros(len(region.names))
    for sign, bound in ((1.0, region.upper[i]), (-1.0, region.lower[i])):
        score[i] = sign
        assert abs(region.vertex(score)[i] - bound) <= 2.0**-52


@property_check
def drawn(data):
    region = data.draw(regions())
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    for w in (region.sample(rng), *region.sample(rng, 17)):
        assert_member(region, w)


@property_check
def guarded(data):
    """What a policy answers lands nearest on the region; mass on an excluded source is refused, however little."""
    region = data.draw(regions())
    count = len(region.names)
    zero = np.zeros(count, np.int64)
    moment = Moment(0, 0, "a stage", Sources(region.names, zero), region, region.centre, Ledger(zero, zero, zero * 1.0))
    answer = data.draw(positive_vectors(region))
    barred = (answer > 0) & (region.upper == 0)
    answer = np.where(answer.any(), answer, 1.0) * 1.0
    try:
        landed = land(answer, moment, [], "euclidean", BLAME)
    except PluginError:
        assert barred.any() or not answer[region.upper > 0].all()
        return
    assert not barred.any(), "mass on an excluded source was not refused"
    assert_member(region, landed.weights)
    assert np.abs(landed.weights - region.project(landed.requested)).max() <= 1e-8


@property_check
def never_refused_around_a_witness(data):
    stated = data.draw(feasible_bounds())
    assert_member(stated.region(), stated.region().centre)


def never_refused():
    for n, share in ((10, 0.1), (100, 0.01), (1000, 0.001), (49, 1 / 49), (6, 1 / 6)):
        bounds = {f"s{i}": share for i in range(n)}
        assert Region.of(bounds, floors=bounds).is_point
        assert Region.of(bounds, caps=bounds).is_point
    never_refused_around_a_witness()


@property_check
def explained(data):
    stated = data.draw(infeasible_bounds())
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


CHECKS = [
    nearest,
    nearest_rows,
    nearest_kl,
    legal_weights_return,
    fixed_up,
    best_vertex,
    corners_are_exact,
    bounds_are_attained,
    drawn,
    guarded,
    never_refused,
    explained,
]
