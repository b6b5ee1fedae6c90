"""Faults that users of other samplers met, each as a test; SAM ids are those of the case list."""

import math

import numpy as np
import pytest
from landings import landed, names
from scipy import stats

from andrea_core import Region
from andrea_core.data.apportion import apportion, multinomial
from andrea_core.testing.certificates import assert_member, assert_nearest


def softmax(rng, n, dtype):
    """A softmax in low precision whose last entry is small, as networks give it."""
    logits = rng.normal(size=n).astype(dtype)
    logits[-1] = -9
    weights = np.exp(logits - logits.max())
    return (weights / weights.sum(dtype=dtype)).astype(dtype)


@pytest.mark.parametrize("n", [10, 64, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_weights_of_low_precision_draw_after_landing_where_numpy_refuses_them_as_they_are(n, dtype):
    """SAM-1, SAM-2, SAM-3, SAM-4: numpy/numpy#6123, #8317; pymc-devs/pymc#2469; pytorch/pytorch#87468.

    Probabilities in half or single precision miss a sum of 1 by more than samplers allow, in either direction.
    """
    rng = np.random.default_rng(n)
    region = Region.of(names(n))
    refused = 0
    for _ in range(40):
        raw = softmax(rng, n, dtype)
        w = landed(raw, region)
        assert region.check(w) == []
        assert rng.multinomial(1000, w).sum() == 1000
        assert len(rng.choice(n, 5, p=w)) == 5
        assert len(multinomial(w, 5, rng)) == 5
        np.testing.assert_allclose(w, raw.astype(np.float64) / raw.sum(dtype=np.float64), atol=1e-9)
        try:
            rng.multinomial(1000, raw)
            rng.choice(n, 5, p=raw.astype(np.float64))
        except ValueError:
            refused += 1
    assert refused > 0


def test_a_hundred_thousand_single_precision_weights_sum_to_one_exactly_after_landing():
    """WGT-1: keras-rl/keras-rl#25, sherjilozair/char-rnn-tensorflow#1: probabilities that sum to 1.0000005."""
    rng = np.random.default_rng(0)
    raw = rng.random(100_000, dtype=np.float32)
    raw /= raw.sum()
    w = landed(raw, Region.of(names(100_000)))
    assert math.fsum(raw.tolist()) != 1.0
    assert math.fsum(w.tolist()) == 1.0
    assert (rng.multinomial(10**6, w) >= 0).all()


def test_no_source_is_the_silent_remainder():
    """SAM-5, TRP-5: scipy/scipy#11860; mixers that floor all counts and give what is left to the last source.

    The last source gets what it is due, in draws and in landing, wherever it stands.
    """
    rng = np.random.default_rng(1)
    surplus, naive = [], []
    for _ in range(200):
        weights = rng.dirichlet(np.ones(8))
        plan, _ = apportion(np.zeros(8), weights, 101)
        surplus.append((plan == 7).sum() - 101 * weights[7])
        naive.append(101 - np.floor(101 * weights[:7]).sum() - 101 * weights[7])
    assert abs(np.mean(surplus)) < 0.25
    assert np.mean(naive) > 2
    caps = dict(zip(names(8), np.full(8, 0.2), strict=True))
    region = Region.of(names(8), caps=caps | {"s7": 1e-9})
    for _ in range(50):
        w = landed(rng.dirichlet(np.ones(8)), region)
        assert 0 <= w[7] <= 1e-9
        assert_member(region, w)


@pytest.mark.parametrize("method", ["project", "kl", "vertex", "check", "land"])
def test_what_is_handed_in_is_left_as_it_was(method):
    """SAM-5, TRP-9: scipy/scipy#22585 and a mixer that damps its graph in place: arguments changed by the callee."""
    region = Region.of("abc", {"a": 0.2}, {"b": 0.3})
    given = np.array([0.1, 0.7, 0.4])
    before = given.tobytes()
    calls = {
        "project": lambda: (region.project(given), region.project(np.tile(given, (20, 1)))),
        "kl": lambda: region.project(given, "kl"),
        "vertex": lambda: region.vertex(given),
        "check": lambda: region.check(given),
        "land": lambda: landed(given, region),
    }
    calls[method]()
    given.flags.writeable = False
    calls[method]()
    assert given.tobytes() == before


def test_ten_tenths_are_weights():
    """SAM-6: UC-Davis-molecular-computing/ppsim#23: ten times 1/10 refused, since a running sum gives less than 1."""
    region = Region.of(names(10))
    tenths = [0.1] * 10
    running = 0.0
    for share in tenths:
        running += share
    assert running != 1.0
    assert region.contains(tenths)
    assert landed(np.array(tenths), region).tolist() == tenths
    assert np.bincount(apportion(np.zeros(10), np.array(tenths), 1000)[0]).tolist() == [100] * 10


def excluded_weights():
    w = np.zeros(9)
    w[[1, 3, 4]] = landed(np.array([0.7, 0.2, 0.1]), Region.of("abc"))
    return w  # the running sum of these never reaches 1, and the last five sources are excluded


def test_a_draw_by_running_sums_can_hit_an_excluded_source_and_ours_cannot():
    """SAM-7: pytorch/pytorch#48841, #50034: items of weight zero drawn, where the running sum stays below 1."""
    w = excluded_weights()
    highest = math.nextafter(1.0, 0.0)
    assert w[np.searchsorted(np.cumsum(w), highest, side="right").clip(max=8)] == 0
    rng = np.random.default_rng(2)
    assert set(multinomial(w, 1_000_000, rng).tolist()) == {1, 3, 4}
    assert set(apportion(np.ones(9) - 1.0, w, 1000)[0].tolist()) == {1, 3, 4}


@pytest.mark.slow
def test_an_excluded_source_is_never_drawn_in_a_hundred_million_draws():
    """SAM-7: the same at the size at which the report saw it."""
    w, rng = excluded_weights(), np.random.default_rng(3)
    assert all(w[multinomial(w, 5_000_000, rng)].all() for _ in range(20))


def test_a_draw_asks_the_generator_once():
    """SAM-9: 0cc4m/KoboldAI#64: drawing again until no item of probability zero comes."""

    class Counting:
        calls = 0

        def choice(self, *args, **kwargs):
            self.calls += 1
            return np.random.default_rng(0).choice(*args, **kwargs)

    rng = Counting()
    multinomial(np.array([0.0, 1e-12, 1 - 1e-12, 0.0]), 1000, rng)
    assert rng.calls == 1


@pytest.mark.parametrize("alpha", [1e-3, 1e-4, 1e-6])
def test_nearly_one_hot_mixtures_land_and_not_a_number_is_refused(alpha):
    """SAM-10, SAM-12: numpy/numpy#19637, jax-ml/jax#17922: small concentrations give NaN rows in older samplers."""
    region = Region.of(names(6), {"s0": 0.05}, {"s1": 0.5}, ["s5"])
    rows = np.random.default_rng(4).dirichlet(np.full(6, alpha), 60)
    for row, w in zip(rows, region.project(rows), strict=True):
        assert_member(region, w)
        assert_nearest(region, row, w)
    legacy = np.random.RandomState(0).dirichlet(np.full(6, alpha), 400)
    broken = ~np.isfinite(legacy).all(axis=1)
    with pytest.raises(ValueError, match="finite"):
        region.project(legacy[broken][0] if broken.any() else [math.nan] * 6)


def test_widths_over_nine_decades_stay_uniform_in_every_source():
    """SAM-14: meta-pytorch/botorch#1225: polytope samplers that fail on badly scaled sets."""
    region = Region.of("abcd", {}, {"a": 1e-9, "b": 1e-4, "c": 0.3})
    draws = region.sample(np.random.default_rng(5), 20_000)
    for i in range(3):  # the widest source has room for whatever the narrow ones take: each is uniform on its width
        assert stats.kstest(draws[:, i] / region.upper[i], "uniform").pvalue > 0.001
    assert np.abs(np.corrcoef(draws[:, :3].T) - np.eye(3)).max() < 0.03


def test_a_pinned_source_leaves_the_others_random_with_the_right_moments():
    """SAM-15: meta-pytorch/botorch#2351: a sampler that returns one point once a value is fixed."""
    region = Region.of("abcd", {"b": 0.3}, {"b": 0.3})
    draws = region.sample(np.random.default_rng(6), 40_000)
    assert (draws[:, 1] == 0.3).all()
    rest = draws[:, [0, 2, 3]] / 0.7  # uniform on a triangle: Dirichlet(1, 1, 1)
    np.testing.assert_allclose(rest.mean(axis=0), 1 / 3, atol=0.006)
    exact = (np.eye(3) * 3 - 1) / 36
    np.testing.assert_allclose(np.cov(rest.T), exact, atol=0.0015)
    assert len(np.unique(draws[:, 0])) > 39_000


def test_means_do_not_depend_on_where_a_source_stands():
    """SAM-17: facebook/Ax#903: one coordinate dropped and set to the rest, which is biased."""
    caps = {"a": 0.3, "b": 0.5, "c": 0.9, "d": 0.45}
    order = ("d", "b", "a", "c")
    one = Region.of(tuple(caps), caps=caps).sample(np.random.default_rng(7), 40_000)
    two = Region.of(order, caps=caps).sample(np.random.default_rng(8), 40_000)
    two = two[:, [order.index(name) for name in caps]]
    error = np.sqrt((one.var(axis=0) + two.var(axis=0)) / 40_000)
    assert (np.abs(one.mean(axis=0) - two.mean(axis=0)) / error).max() < 4.5


def test_a_search_from_outside_needs_the_public_region_only():
    """SAM-18: facebook/Ax#3867: mixture weights wanted as a search space."""
    region = Region.of("abcd", {"a": 0.1}, {"b": 0.4}, ["d"])
    target = np.array([0.2, 0.7, 0.3, 0.5])
    rng = np.random.default_rng(9)
    best = min(region.sample(rng, 200), key=lambda w: np.square(w - target).sum())
    for _ in range(400):
        best = region.project(best - 0.1 * (best - target))
    np.testing.assert_allclose(best, region.project(target), atol=1e-12)
