"""Bugs to plant in group bounds and rows, and the property checks that must see them."""

import math

import attrs
import numpy as np
from hypothesis import strategies as st
from planted_checks import property_check

from andrea_core.errors import InfeasibleRegion
from andrea_core.simplex import Group, Region, Row
from andrea_core.simplex.box import Box
from andrea_core.simplex.groups import feasibility, projection, tilts
from andrea_core.simplex.polytope import dual, lp, region as polytope, sampling
from andrea_core.testing.certificates import assert_member, assert_nearest
from andrea_core.testing.grouped import grouped_regions, infeasible_groups, regions_with_rows


def admitted(region, w):
    assert_member(region, w)
    for group in region.stated.groups:
        total = math.fsum(w[list(group.members)].tolist())
        assert group.at_least - 2e-15 <= total <= group.at_most + 2e-15
    for row in region.stated.rows:
        value = math.fsum(c * w[i] for i, c in zip(row.members, row.coefficients, strict=True))
        assert row.at_least - 2e-9 <= value <= row.at_most + 2e-9


@property_check
def group_nearest(data):
    region = data.draw(grouped_regions())
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    v = rng.standard_normal(len(region.names))
    for w in (region.project(v), region.project([v] * 3)[1]):
        admitted(region, w)
        assert_nearest(region, v, w)


def group_nearest_between_windows():
    """Windows that are missed on both sides at once: only one side may be fixed before looking again."""
    groups = (Group(("a", "b"), 0.1, 0.3), Group(("c", "d"), 0.2, 0.25), Group(("e", "f"), 0.05, 0.4))
    region = Region.of("abcdefgh", groups=groups)
    for v in 0.5 * np.random.default_rng(2).standard_normal((100, 8)):
        w = region.project(v)
        admitted(region, w)
        assert_nearest(region, v, w)


@property_check
def group_best_vertex(data):
    region = data.draw(grouped_regions(max_sources=5))
    score = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))).standard_normal(len(region.names))
    w = region.vertex(score)
    admitted(region, w)
    assert score @ w >= max(score @ x for x in region.vertices()) - 1e-12


def group_best_of_listed_vertices():
    """Wide windows that bind for most scores: the vertex is the best of those that can be listed."""
    rng = np.random.default_rng(4)
    region = Region.of("abcdef", {}, {"c": 0.3}, groups=(Group(("a", "b"), 0.4, 0.6), Group(("c", "d"), 0.1, 0.2)))
    corners = region.vertices()
    for score in rng.standard_normal((100, 6)):
        w = region.vertex(score)
        admitted(region, w)
        assert score @ w >= float((corners @ score).max()) - 1e-12


@property_check
def group_bounds_are_attained(data):
    region = data.draw(grouped_regions())
    for i in range(len(region.names)):
        score = np.eye(len(region.names))[i]
        assert abs(region.vertex(score)[i] - region.upper[i]) <= 1e-14
        assert abs(region.vertex(-score)[i] - region.lower[i]) <= 1e-14


@property_check
def group_clash(data):
    names, floors, caps, groups = data.draw(infeasible_groups())
    try:
        Region.of(names, floors, caps, groups=groups)
    except InfeasibleRegion as error:
        clash = error.clash
    else:
        raise AssertionError("an empty region was not refused")
    assert clash


def group_draws():
    """The mean of draws is that of the quadrature over totals."""
    region = Region.of(
        "abcdefgh", {}, {"d": 0.3}, groups=(Group(("a", "b", "c", "d"), 0.75, 0.95), Group(("e",), 0, 0.2))
    )
    draws = region.sample(np.random.default_rng(3), 8000)
    for w in draws[:50]:
        admitted(region, w)
    sigma = np.sqrt(np.diag(region.covariance()))
    assert np.abs((draws.mean(axis=0) - region.mean()) / sigma).max() * math.sqrt(len(draws)) < 5
    total = draws[:, :4].sum(axis=1)
    exact = math.sqrt(region.covariance()[:4, :4].sum())
    assert abs(total.std() / exact - 1) < 0.06


@property_check
def row_nearest(data):
    region = data.draw(regions_with_rows())
    v = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))).standard_normal(len(region.names))
    w = region.project(v)
    admitted(region, w)
    pull = v - w - np.median(v - w)
    assert pull @ (region.vertex(pull) - w) <= 2e-8 * (1 + np.abs(pull).max())


@property_check
def row_vertex(data):
    region = data.draw(regions_with_rows(max_sources=5))
    score = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))).standard_normal(len(region.names))
    w = region.vertex(score)
    admitted(region, w)
    assert score @ w >= max(score @ x for x in region.vertices()) - 1e-6


def row_draws():
    """Rejection has the mean of the same group; hit-and-run has that of a triangle, and moves."""
    names, weights = "abcde", dict.fromkeys("ab", 1.0)
    exact = Region.of(names, groups=(Group(("a", "b"), 0.6, 0.8),))
    sigma = np.sqrt(np.diag(exact.covariance()))
    raw = Region.of(names, rows=(Row(weights, 0.6, 0.8),)).sampler.draw(np.random.default_rng(1), 8000)
    assert np.abs((raw.mean(axis=0) - exact.mean()) / sigma).max() * math.sqrt(len(raw)) < 5
    flat = Region.of("abcd", rows=(Row({"a": 1, "b": -1}, 0, 0),)).sampler
    draws = flat.draw(np.random.default_rng(2), 1500)
    assert np.abs(draws.mean(axis=0) - [1 / 6, 1 / 6, 1 / 3, 1 / 3]).max() < 0.03
    assert np.abs(draws.std(axis=0) - np.array([0.5, 0.5, 1, 1]) * math.sqrt(1 / 18)).max() < 0.02
    assert np.abs(draws[:, 0] - draws[:, 1]).max() < 1e-9


SOUND_SPLIT, SOUND_TOTALS, SOUND_BEST, SOUND_ENDS = tilts.split, tilts.totals_of, lp.best, sampling.ends


def rising_at_all(sums, loose):
    edges = np.array(
        [p.low if s < p.low else p.high if s > p.high else np.nan for s, p in zip(sums, loose, strict=True)]
    )
    return None if np.isnan(edges).all() else edges


def one_stage(scores, groups):
    return groups.settle(projection.best(scores, groups.box))


def worst_above_floors(scores, groups):
    """Meet the group floors by the best sources, and fill up by the worst."""
    box, low = groups.box, np.empty_like(groups.box.lower)
    for part in groups.parts:
        low[part.members] = projection.best(scores[part.members], groups.cut(part.members, part.low))
    return groups.settle(projection.best(-scores, Box(low, box.upper, box.total)))


def unthinned(u, theta, mass, rng):
    x, _ = SOUND_SPLIT(u, theta, mass, rng)
    return x, (x[:, -1] >= 0) & (x[:, -1] <= u[-1])


def even_totals(block, rng, count):
    return block.low + block.span * rng.random(count)


def other_way(block, rng, count):
    return SOUND_TOTALS(attrs.evolve(block, rate=-block.rate), rng, count)


def nowhere(rows, loose):
    return np.zeros((len(rows), len(loose)), int)


def all_met(self, rows):
    return np.ones(len(rows), bool)


def half_step(x, room):
    low, high = SOUND_ENDS(x, room)
    return 0.0 * low, high


BUGS = {
    "windows do not tighten": (feasibility, "bounded", lambda box, parts: box, group_bounds_are_attained),
    "windows not implied": (feasibility, "_implied", lambda lo, hi, up, down: (lo, hi), group_bounds_are_attained),
    "group windows not met": (projection, "_edges", lambda sums, loose: None, group_nearest),
    "both sides fixed at once": (projection, "_edges", rising_at_all, group_nearest_between_windows),
    "rows' windows not met": (projection, "_sides", nowhere, group_nearest),
    "vertex in one stage": (projection, "vertex", one_stage, group_best_of_listed_vertices),
    "worst vertex above group floors": (projection, "vertex", worst_above_floors, group_best_vertex),
    "group clashes let through": (feasibility, "refuse", lambda bounds, slack: None, group_clash),
    "group tilts not thinned": (tilts, "split", unthinned, group_draws),
    "group totals drawn evenly": (tilts, "totals_of", even_totals, group_draws),
    "group totals tilted the other way": (tilts, "totals_of", other_way, group_draws),
    "rows ignored by the dual": (polytope, "nearest", lambda v, rows, box, how: dual.euclidean(v, box), row_nearest),
    "one dual step": (dual, "STEPS", 1, row_nearest),
    "worst vertex of rows": (lp, "best", lambda s, rows, box: SOUND_BEST(-s, rows, box), row_vertex),
    "rows not looked at in draws": (sampling.PolytopeSampler, "met", all_met, row_draws),
    "hit-and-run one way only": (sampling, "ends", half_step, row_draws),
}  # fmt: skip
CHECKS = [
    group_nearest, group_nearest_between_windows, group_best_vertex, group_best_of_listed_vertices,
    group_bounds_are_attained, group_clash, group_draws,
    row_nearest, row_vertex, row_draws,
]  # fmt: skip
