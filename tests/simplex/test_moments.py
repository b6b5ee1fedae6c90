"""Means and covariances of uniform draws: against exact rationals, closed forms and draws."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from andrea_core.simplex import Region, moments, rational
from andrea_core.simplex.slices import Slice
from andrea_core.testing.certificates import assert_member
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
    return region(floors, np.minimum(1, witness + 1e-3 / n + rng.lognormal(0, 1.0, n) * width))


def by_rationals(found):
    """Return the exact mean and covariance of the free sources, for any number of them."""
    part = Slice.of(found.stated, found.box)
    scaled = rational.Scaled.of(part)
    offset, pairs = rational.moments(scaled)
    return (part.upper - offset if scaled.mirrored else part.lower + offset), pairs


@pytest.mark.parametrize("n", [9, 11, 12])
def test_the_series_equals_exact_rationals(n):
    for seed in range(4):
        found = random_region(n, seed)
        part = Slice.of(found.stated, found.box)
        offset, pairs = moments.by_series(part.u, part.mass, part.theta, True)
        mean, covariance = by_rationals(found)
        np.testing.assert_allclose(part.weights(offset), mean, rtol=0, atol=1e-14)
        np.testing.assert_allclose(pairs, covariance, rtol=0, atol=1e-12 * covariance.max())


@pytest.mark.parametrize("n", [2, 3, 10, 16, 64])
def test_floors_alone_have_the_moments_of_a_scaled_dirichlet(n):
    floors = np.random.default_rng(n).dirichlet(np.ones(n)) * 0.6
    found = region(floors, np.ones(n))
    mass = 1 - math.fsum(floors.tolist())
    np.testing.assert_allclose(found.mean(), floors + mass / n, rtol=0, atol=1e-15)
    dirichlet = mass**2 * (np.eye(n) / n - np.full((n, n), 1 / n**2)) / (n + 1)
    np.testing.assert_allclose(found.covariance(), dirichlet, rtol=0, atol=1e-15 * mass)


def test_the_mean_of_the_seeds_quadrilateral_is_its_centroid():
    corners = [
        (Fraction(1), Fraction(0)),
        (Fraction(1, 2), Fraction(0)),
        (Fraction(1, 2), Fraction(1, 4)),
        (Fraction(3, 4), Fraction(1, 4)),
    ]
    area = x = y = Fraction(0)
    for (a, b), (c, d) in zip(corners, corners[1:] + corners[:1], strict=True):
        cross = a * d - c * b
        area, x, y = area + cross / 2, x + (a + c) * cross / 6, y + (b + d) * cross / 6
    mean = Region.of("HGD", {"H": 0.5}, {"D": 0.25}).mean()
    assert mean.tolist() == pytest.approx([float(x / area), float(1 - x / area - y / area), float(y / area)], abs=1e-16)


@pytest.mark.parametrize(("n", "count"), [(4, 40_000), (16, 40_000), (64, 20_000)])
def test_draws_have_the_mean_and_covariance(n, count):
    found = random_region(n, 7, 1.5 / n)
    mean, covariance = found.mean(), found.covariance()
    draws = found.sample(np.random.default_rng(n), count)
    sigma = np.sqrt(np.diag(covariance))
    assert np.abs((draws.mean(axis=0) - mean) / sigma).max() * math.sqrt(count) < 5
    centred = (draws - mean) / sigma
    products = centred.T @ centred / count
    spread = np.sqrt(np.maximum((centred**2).T @ (centred**2) / count - products**2, 1e-12) / count)
    assert np.abs((products - covariance / np.outer(sigma, sigma)) / spread).max() < 5


def test_draws_that_are_projected_do_not_have_the_mean():
    found = random_region(16, 7, 1.5 / 16)
    draws = found.project(np.random.default_rng(1).dirichlet(np.ones(16), 20_000))
    sigma = np.sqrt(np.diag(found.covariance()))
    assert np.abs((draws.mean(axis=0) - found.mean()) / sigma).max() * math.sqrt(20_000) > 20


@pytest.mark.parametrize("n", [16, 64, 256, 1000])
def test_covariances_sum_to_zero_and_means_to_one(n):
    found = random_region(n, 2, 2.0 / n)
    assert_member(found, found.mean())
    covariance = found.covariance()
    assert np.abs(covariance.sum(axis=1)).max() < 1e-13 * covariance.max()
    assert (covariance == covariance.T).all()
    offset, _ = moments.by_series((part := Slice.of(found.stated, found.box)).u, part.mass, part.theta, False)
    assert abs(math.fsum([*offset.tolist(), -part.mass])) < 1e-15


@given(regions(max_sources=14))
def test_the_mean_is_a_member_inside_and_the_covariance_is_positive(found):
    mean, covariance = found.mean(), found.covariance()
    assert_member(found, mean)
    scale = max(float(covariance.max()), 1e-300)
    assert np.linalg.eigvalsh(covariance / scale).min() > -1e-10
    assert not covariance[~found.box.is_free].any()
    assert np.abs(covariance.sum(axis=1)).max() <= 1e-12 * scale
    if found.dimension == 0:
        assert not covariance.any()


def test_one_source_with_more_room_than_mass_leaves_the_side_of_the_others():
    found = region(np.full(12, 0.05), np.array([1.0, *np.linspace(0.0502, 0.0508, 11)]))
    part = Slice.of(found.stated, found.box)
    assert part.mirrored
    assert (part.u <= part.mass).all()
    assert math.fsum(part.u.tolist()) >= 2 * part.mass * (1 - 1e-15)
    mean, covariance = by_rationals(found)
    offset, pairs = moments.by_series(part.u, part.mass, part.theta, True)
    np.testing.assert_allclose(part.weights(offset), mean, rtol=0, atol=1e-15)
    np.testing.assert_allclose(pairs, covariance, rtol=0, atol=1e-12 * covariance.max())


def test_mirrored_and_retightened_sides_agree_with_exact_rationals():
    for floors, caps in (
        ([0, 0, 0], [1, 0.01, 0.01]),
        ([0.4, 0.4], [1, 0.5]),
        ([0.1, 0, 0, 0], [0.5, 0.4, 0.3, 0.1]),
        ([0] * 11, [0.9, 0.11, *[1e-3] * 9]),
        ([0.05] * 12, [1.0, *[0.06] * 11]),
        ([0] * 12, [0.0834] * 12),
    ):
        found = region(np.array(floors, float), np.array(caps, float))
        mean, covariance = by_rationals(found)
        np.testing.assert_allclose(found.mean(), mean, rtol=0, atol=1e-15)
        np.testing.assert_allclose(found.covariance(), covariance, rtol=0, atol=1e-12 * covariance.max())


@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-8])
def test_narrow_sources_beside_a_few_wide_ones_have_their_moments(width):
    caps = np.array([0.6, 0.7, 0.5, *(width * np.linspace(0.3, 1.0, 9))])
    found = region(np.zeros(12), caps)
    mean, covariance = by_rationals(found)
    error = 1e-15 + (0.1 * width**2 if width <= 1e-6 else 0.0)
    np.testing.assert_allclose(found.mean(), mean, rtol=0, atol=error)
    np.testing.assert_allclose(found.covariance(), covariance, rtol=0, atol=error)


def test_expanding_many_narrow_sources_changes_nothing(monkeypatch):
    found = random_region(60, 5, 0.02)
    mean, covariance = found.mean(), found.covariance()
    monkeypatch.setattr(moments, "ORDERS", 1000)
    plain = random_region(60, 5, 0.02)
    np.testing.assert_allclose(plain.mean(), mean, rtol=0, atol=1e-16)
    np.testing.assert_allclose(plain.covariance(), covariance, rtol=0, atol=1e-13 * covariance.max())


def test_the_mean_is_neither_centre_nor_average_of_vertices():
    found = Region.of("HGD", {"H": 0.5}, {"D": 0.25})
    mean = found.mean()
    for other in (found.centre, found.chebyshev().centre, found.vertices().mean(axis=0)):
        assert np.abs(mean - other).max() > 0.005
