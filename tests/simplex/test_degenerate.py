"""Degenerate sets on which solvers and samplers are known to fail: every method keeps the contract on each of them."""

import math

import numpy as np
import pytest

from andrea_core.simplex import Region
from andrea_core.testing.certificates import assert_kl_nearest, assert_member, assert_nearest


def many(n):
    return [f"s{i}" for i in range(n)]


def ulp_wide(n):
    shares = np.random.default_rng(n).dirichlet(np.ones(n))
    names = many(n)
    lower, upper = np.nextafter(shares, 0), np.nextafter(shares, 1)
    return names, dict(zip(names, lower, strict=True)), dict(zip(names, upper, strict=True)), ()


SETS = {
    "one source": (["a"], {}, {}, ()),
    "pinned": ("abc", {"a": 0.3}, {"a": 0.3}, ()),
    "excluded": ("abcd", {}, {"a": 0.5}, ("b",)),
    "ten floors of a tenth": (many(10), dict.fromkeys(many(10), 0.1), {}, ()),
    "ten caps of a tenth": (many(10), {}, dict.fromkeys(many(10), 0.1), ()),
    "caps .7 .2 .1": ("abc", {}, {"a": 0.7, "b": 0.2, "c": 0.1}, ()),
    "two halves": ("ab", {}, {"a": 0.5, "b": 0.5}, ()),
    "forty-nine floors": (many(49), dict.fromkeys(many(49), 1 / 49), {}, ()),
    "ulp widths, 3": ulp_wide(3),
    "ulp widths, 400": ulp_wide(400),
    "one ulp below a full floor": ("ab", {"a": 1 - 2.0**-53}, {}, ()),
    "cap of the smallest float": ("abc", {}, {"a": 5e-324}, ()),
    "widths over nine decades": ("abcde", {}, {"a": 1e-9, "b": 1e-6, "c": 1e-3, "d": 0.6}, ()),
    "tiny caps for all but one": (many(500), {}, dict.fromkeys(many(500)[1:], 1e-12), ()),
    "one floor near one": (many(64), {"s3": 1 - 1e-9}, {}, ()),
    "two thousand at ten times their share": (many(2000), {}, dict.fromkeys(many(2000), 0.005), many(2000)[::7]),
    "ten thousand": (many(10_000), {"s1": 0.7}, {"s2": 0.25}, many(10_000)[5000:]),
}


@pytest.fixture(params=SETS)
def region(request):
    return Region.of(*SETS[request.param])


def test_every_method_keeps_the_contract(region):
    n = len(region.names)
    rng = np.random.default_rng(n)
    assert_member(region, region.centre)
    assert_member(region, region.chebyshev().centre)
    assert_member(region, region.vertex(rng.normal(size=n)))
    for w in (region.sample(rng), *region.sample(rng, 20)):
        assert_member(region, w)
    for v in (rng.normal(size=n), rng.normal(size=n) * 1e6, region.upper, region.lower, np.full(n, -0.0)):
        w = region.project(v)
        assert_member(region, w)
        assert_nearest(region, np.asarray(v), w)
        assert region.project(w).tobytes() == w.tobytes()
    for w in region.project(rng.normal(size=(17, n))):
        assert_member(region, w)


def test_kl_projection_keeps_the_contract(region):
    n = len(region.names)
    rng = np.random.default_rng(n)
    for p in (rng.dirichlet(np.ones(n)) + 1e-12, 10.0 ** rng.uniform(-300, 300, n), np.full(n, 5e-324)):
        w = region.project(p, "kl")
        assert_member(region, w)
    assert_kl_nearest(region, np.ones(n), region.project(np.ones(n), "kl"))
    for w in region.project(rng.dirichlet(np.ones(n), 17), "kl"):
        assert_member(region, w)


def test_dimension_counts_widths_that_matter():
    assert Region.of(*SETS["pinned"]).dimension == 1
    assert Region.of(*SETS["ulp widths, 400"]).dimension == 0
    assert Region.of(*SETS["cap of the smallest float"]).dimension == 1
    assert Region.of(*SETS["widths over nine decades"]).dimension == 4


def test_the_exact_sum_is_one_for_random_sets_of_every_size():
    rng = np.random.default_rng(9)
    for n in (2, 3, 5, 16, 64, 300) * 12:
        witness = rng.dirichlet(np.full(n, rng.choice([0.1, 1.0, 10.0])))
        names = many(n)
        region = Region.of(
            names,
            dict(zip(names, witness * rng.random(n), strict=True)),
            dict(zip(names, np.minimum(1, witness + rng.random(n) * rng.choice([1e-12, 1e-3, 1.0])), strict=True)),
        )
        for w in (region.centre, region.project(rng.normal(size=n)), region.sample(rng), region.vertex(rng.random(n))):
            assert_member(region, w)
            assert math.fsum(w.tolist()) == 1.0
