"""Volume fractions: against exact rationals and closed forms, additive when cut, with errors inside their bounds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from andrea_core.simplex import Region, fourier, narrow, rational, tilt, volume
from andrea_core.simplex.slices import Slice
from andrea_core.testing.geometry import regions


def names(n):
    return [f"s{i}" for i in range(n)]


def region(floors, caps):
    n = len(caps)
    return Region.of(names(n), dict(zip(names(n), floors, strict=True)), dict(zip(names(n), caps, strict=True)))


def random_region(n, seed, width=0.3):
    rng = np.random.default_rng([n, seed])
    floors = rng.dirichlet(np.ones(n)) * rng.uniform(0, 0.8)
    witness = floors + rng.dirichlet(np.full(n, 2.0)) * (1 - floors.sum()) * 0.999
    return region(floors, np.minimum(1, witness + 1e-3 / n + rng.lognormal(0, 1.5, n) * width * rng.choice([0.03, 1])))


def exact_log(fraction):
    """Return the log of a positive Fraction of any size to rounding."""
    shift = fraction.denominator.bit_length() - fraction.numerator.bit_length()
    return math.log(fraction * Fraction(2) ** shift) - shift * math.log(2)


def plain(found):
    """Inclusion and exclusion over the effective bounds as they stand, an independent reference."""
    box = found.box
    u = [Fraction(box.upper[i]) - Fraction(box.lower[i]) for i in box.free]
    mass = 1 - sum(Fraction(x) for x in box.lower)
    sums = [(mass, 1)]
    for width in u:
        sums += [(rest - width, -sign) for rest, sign in sums if rest > width]
    return sum(sign * rest ** (len(u) - 1) for rest, sign in sums)


def log_equal_caps(n, cap):
    """Return the log of sum (-1)^k C(n, k) max(0, 1 - k cap)^(n-1), by whole numbers."""
    top, unit = cap.as_integer_ratio()
    total = sum((-1) ** k * math.comb(n, k) * (unit - k * top) ** (n - 1) for k in range(unit // top + 1))
    shift = unit.bit_length() * (n - 1) - total.bit_length()
    return math.log((total << shift) / unit ** (n - 1)) - shift * math.log(2)


@pytest.mark.parametrize("n", [2, 3, 5, 8, 12])
def test_few_sources_give_the_exact_fraction(n):
    for seed in range(6):
        found = random_region(n, seed)
        result = found.log_volume_fraction()
        assert (result.method, result.dimension) == ("exact", n - 1)
        assert result.value == pytest.approx(exact_log(plain(found)), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("n", [6, 8, 10, 12, 13, 14])
def test_the_fourier_series_equals_exact_rationals_within_its_error(n):
    for seed in range(6):
        part = Slice.of((found := random_region(n, seed)).stated, found.box)
        value, error = volume.by_series(part.u, part.mass, part.theta)
        truth = exact_log(Fraction(*rational.volume(rational.Scaled.of(part))))
        assert abs(value - truth) <= error < 1e-11


@pytest.mark.parametrize(("n", "ratio"), [(8, 1.3), (16, 1.3), (32, 1.3), (64, 1.9), (256, 1.3), (1000, 1.3)])
def test_equal_caps_have_the_closed_form(n, ratio):
    cap = ratio / n
    result = region(np.zeros(n), np.full(n, cap)).log_volume_fraction()
    assert abs(result.value - log_equal_caps(n, float(cap))) <= result.error < 1e-11


@pytest.mark.parametrize("n", [2, 3, 12, 13, 64, 1000])
def test_floors_alone_leave_a_smaller_simplex(n):
    floors = np.random.default_rng(n).dirichlet(np.ones(n)) * 0.7
    result = region(floors, np.ones(n)).log_volume_fraction()
    mass = math.fsum([1.0, *(-floors).tolist()])
    assert abs(result.value - (n - 1) * math.log(mass)) <= result.error + 1e-15 * n < 1e-11


def test_the_worked_example_of_the_seeds_takes_three_sixteenths_of_the_simplex():
    seeds = Region.of(["hermes3-general", "gutenberg", "dictionary"], {"hermes3-general": 0.5}, {"dictionary": 0.25})
    assert math.exp(float(seeds.log_volume_fraction())) == pytest.approx(3 / 16, rel=1e-15)


def test_the_whole_simplex_counts_as_one_and_so_does_a_point():
    for n in (1, 2, 3, 40, 1000):
        whole = Region.of(names(n)).log_volume_fraction()
        assert abs(whole.value) <= whole.error < 1e-11
    point = Region.of("ab", {"a": 0.5}, {"a": 0.5}).log_volume_fraction()
    assert (point.value, point.error, point.method, point.dimension) == (0.0, 0.0, "point", 0)


def test_pinned_and_excluded_sources_do_not_count():
    plain_one = Region.of("abc", {}, {"a": 0.6}).log_volume_fraction()
    assert Region.of("abcd", {}, {"a": 0.6}, "d").log_volume_fraction() == plain_one
    pinned = Region.of("abcd", {"d": 0.25}, {"a": 0.45, "d": 0.25}).log_volume_fraction()
    assert pinned.value == pytest.approx(plain_one.value + 2 * math.log(0.75), abs=1e-14)


@given(regions(min_sources=2, max_sources=9), st.data())
def test_a_cut_splits_the_fraction_in_two(found, data):
    i = data.draw(st.sampled_from(found.box.free.tolist())) if not found.is_point else 0
    cut = found.lower[i] + data.draw(st.floats(0.05, 0.95)) * (found.upper[i] - found.lower[i])
    assume(found.upper[i] - found.lower[i] > 1e-9)
    name = found.names[i]
    parts = found.restrict(caps={name: cut}), found.restrict(floors={name: cut})
    assume(all(part.dimension == found.dimension for part in parts))
    shares = [math.exp(part.log_volume_fraction().value - found.log_volume_fraction().value) for part in parts]
    assert math.fsum(shares) == pytest.approx(1.0, abs=1e-6 if min(found.box.above, found.box.below) < 1e-6 else 1e-11)


@pytest.mark.parametrize("n", [16, 64, 300])
def test_a_cut_splits_the_fraction_of_many_sources_in_two(n):
    for seed in range(4):
        found = random_region(n, seed, 3.0 / n)
        i = int(np.argmax(found.box.width))
        cut = found.mean()[i]
        parts = found.restrict(caps={f"s{i}": cut}), found.restrict(floors={f"s{i}": cut})
        shares = [math.exp(part.log_volume_fraction().value - found.log_volume_fraction().value) for part in parts]
        assert min(shares) > 0.2
        assert math.fsum(shares) == pytest.approx(1.0, abs=1e-11)


@given(regions(max_sources=14))
def test_every_region_has_a_fraction_of_at_most_one_with_a_small_error(found):
    result = found.log_volume_fraction()
    assert result.value <= 0.0
    assert 0.0 <= result.error < 1e-9
    assert result.dimension == found.dimension


def test_widths_far_below_rounding_of_the_bounds_keep_their_digits():
    floors, caps = np.full(4, 0.25 - 1e-13), np.full(4, 1.0)
    mass = 1 - sum(Fraction(x) for x in floors)
    assert region(floors, caps).log_volume_fraction().value == pytest.approx(3 * exact_log(mass), rel=1e-14)


@pytest.mark.parametrize("width", [1e-4, 1e-6, 1e-7, 1e-9])
def test_a_few_wide_and_some_narrow_sources_agree_with_exact_rationals(width):
    caps = np.array([0.6, 0.7, 0.5, *(width * np.linspace(0.3, 1.0, 11))])
    found = region(np.zeros(14), caps)
    result = found.log_volume_fraction()
    part = Slice.of(found.stated, found.box)
    assert abs(result.value - exact_log(Fraction(*rational.volume(rational.Scaled.of(part))))) <= result.error < 1e-11


def test_where_the_series_is_cut_short_the_error_tells(monkeypatch):
    part = Slice.of((found := random_region(13, 1)).stated, found.box)
    truth = exact_log(Fraction(*rational.volume(rational.Scaled.of(part))))
    monkeypatch.setattr(fourier, "MOST", 12)
    value, error = volume.by_series(part.u, part.mass, part.theta)
    assert error > 1e-9
    assert abs(value - truth) <= error


def test_the_power_series_of_narrow_widths_equals_the_factors():
    u = fourier.Widths.of(np.array([0.01, 0.02, 0.02, 0.03]))
    t = np.linspace(0.0, 90.0, 50)
    direct = np.prod(fourier.factors(u.values, 4.0, t) ** u.counts[:, None], axis=0)
    series = narrow.product(u.values, u.counts, 4.0, fourier.tilts(4.0, t))
    np.testing.assert_allclose(series, direct, rtol=1e-13)


def test_the_envelope_bounds_the_characteristic_function_and_falls():
    u = fourier.Widths.of(np.array([0.1, 0.3, 0.3, 1.0]))
    for theta in (0.05, 2.0, 40.0):
        t = np.linspace(0.01, 300.0, 5000)
        bound = np.array([fourier.envelope(u, theta, x) for x in t])
        assert (np.log(np.abs(fourier.characteristic(u, theta, t))) <= bound + 1e-10).all()
        assert (np.diff(bound) < 0).all()


def test_any_tilt_gives_the_same_fraction():
    part = Slice.of((found := random_region(20, 3)).stated, found.box)
    truth = volume.by_series(part.u, part.mass, part.theta)[0]
    sigma = math.sqrt(tilt.variances(part.u, part.theta).sum())
    for shift in (0.3, 1.0):
        assert volume.by_series(part.u, part.mass, part.theta + shift / sigma)[0] == pytest.approx(truth, abs=1e-12)
