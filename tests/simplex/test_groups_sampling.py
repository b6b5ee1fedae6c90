"""Uniform draws under group bounds: equal-area cells, means against rejection, and the choice that can be read."""

import numpy as np
import pytest
from scipy.stats import chisquare

from andrea_core.simplex import Group, Region

SETS = {
    "floor binds": Region.of("abc", groups=(Group(("a", "b"), at_least=0.8),)),
    "cap binds": Region.of("abc", caps={"a": 0.6}, groups=(Group(("b", "c"), at_most=0.5),)),
    "narrow": Region.of("abc", groups=(Group(("a", "c"), 0.4, 0.45),)),
    "loose": Region.of("abc", {"a": 0.1}, {"b": 0.7}, groups=(Group(("a", "b"), 0.1, 0.95),)),
}


def rejected(region, count, seed=0):
    """Uniform draws by rejection from the bounds alone, and the share accepted."""
    names = region.names
    stated = region.stated
    plain = Region.of(names, dict(zip(names, stated.lower, strict=True)), dict(zip(names, stated.upper, strict=True)))
    rows = plain.sample(np.random.default_rng(seed), count)
    legal = np.ones(len(rows), dtype=bool)
    for group in stated.groups:
        total = rows[:, list(group.members)].sum(axis=1)
        legal &= (total >= group.at_least) & (total <= group.at_most)
    return rows[legal], float(legal.mean())


@pytest.mark.parametrize("name", SETS)
def test_draws_fill_cells_in_proportion_to_their_area_at_three_sources(name):
    region = SETS[name]
    rng = np.random.default_rng(1)
    draws = region.sample(rng, 40_000)
    low, high = draws.min(axis=0), draws.max(axis=0)
    # Cells of the plane: their areas inside the region, from a fine grid of the triangle that knows no sampler.
    grid = (np.indices((1200, 1200)).reshape(2, -1).T + 0.5) / 1200
    points = np.column_stack([grid, 1 - grid.sum(axis=1)])
    inside = ((points >= region.lower) & (points <= region.upper)).all(axis=1)
    for group in region.stated.groups:
        total = points[:, list(group.members)].sum(axis=1)
        inside &= (total >= group.at_least) & (total <= group.at_most)
    edges = [np.linspace(low[k] - 1e-9, high[k] + 1e-9, 7) for k in (0, 1)]
    areas = np.histogram2d(*points[inside, :2].T, bins=edges)[0].ravel()
    seen = np.histogram2d(*draws[:, :2].T, bins=edges)[0].ravel()
    large = areas > 0.01 * areas.sum()
    expected = areas[large] / areas[large].sum() * seen[large].sum()
    # The grid's own error is about 1 / 1200 of a cell's side, well below the scatter of the counts.
    assert chisquare(seen[large], expected).pvalue > 1e-3


def test_draws_fill_cells_of_equal_volume_at_four_sources():
    """Where a + b >= 0.7 on the simplex, a / (a + b) and c / (c + d) are uniform and independent of the sum."""
    region = Region.of("abcd", groups=(Group(("a", "b"), at_least=0.7),))
    draws = region.sample(np.random.default_rng(2), 30_000)
    total = draws[:, 0] + draws[:, 1]
    # The density of the sum t is t (1 - t) on [0.7, 1]; its distribution function makes it uniform.
    area = (3 * total**2 - 2 * total**3 - (3 * 0.49 - 2 * 0.343)) / (1 - (3 * 0.49 - 2 * 0.343))
    unit = np.column_stack([area, draws[:, 0] / total, draws[:, 2] / (1 - total)])
    cells = np.histogramdd(unit, bins=[np.linspace(0, 1, 8)] * 3)[0].ravel()
    assert chisquare(cells).pvalue > 1e-3


@pytest.mark.parametrize(
    "groups",
    [
        (Group(tuple("abc"), at_least=0.55),),
        (Group(tuple("ab"), at_most=0.2), Group(tuple("cd"), at_least=0.4)),
        (Group(tuple("ab"), 0.3, 0.35), Group(tuple("cdef"), 0.4, 0.6)),
        (Group(("a",), at_least=0.3), Group(tuple("bc"), at_most=0.3)),
    ],
)
def test_means_and_covariances_agree_with_rejection(groups):
    region = Region.of("abcdefgh", {"b": 0.01}, {"d": 0.3, "g": 0.25}, groups=groups)
    reference, _ = rejected(region, 300_000)
    draws = region.sample(np.random.default_rng(3), 12_000)
    assert len(reference) > 500
    scatter = np.sqrt(draws.var(axis=0) / len(draws) + reference.var(axis=0) / len(reference))
    assert (np.abs(draws.mean(axis=0) - reference.mean(axis=0)) <= 4.5 * scatter).all()
    spread = np.abs(np.cov(draws.T) - np.cov(reference.T)).max()
    assert spread <= 12 * draws.var(axis=0).max() / np.sqrt(len(reference))


def test_a_group_that_rejection_cannot_meet_is_sampled_all_the_same():
    names = tuple(f"s{i}" for i in range(64))
    region = Region.of(names, groups=(Group(names[:8], at_least=0.6),))
    draws = region.sample(np.random.default_rng(0), 300)
    assert rejected(region, 5000)[1] == 0.0
    assert (draws[:, :8].sum(axis=1) >= 0.6 - 1e-12).all()
    # Above the floor, the sum has the density t**7 (1 - t)**55 of the plain simplex: it hugs the floor.
    grid = np.linspace(0.6, 1.0, 20_001)
    density = grid**7 * (1 - grid) ** 55
    mean = (grid * density).sum() / density.sum()
    deviation = np.sqrt(((grid - mean) ** 2 * density).sum() / density.sum())
    assert abs(draws[:, :8].sum(axis=1).mean() - mean) <= 4.5 * deviation / np.sqrt(len(draws))


def test_fixed_totals_are_sampled_slice_by_slice():
    region = Region.of("abcd", groups=(Group(("a", "b"), 0.7, 0.7),))
    draws = region.sample(np.random.default_rng(0), 4000)
    assert region.sampler.method == "slices"
    assert chisquare(np.histogram(draws[:, 0], bins=10, range=(0, 0.7))[0]).pvalue > 1e-3
    assert chisquare(np.histogram(draws[:, 2], bins=10, range=(0, 0.3))[0]).pvalue > 1e-3


def test_choice_and_acceptance_are_readable():
    sampler = Region.of("abcdef", groups=(Group(("a", "b"), at_least=0.7),)).sampler
    assert sampler.method == "tilts"
    assert len(sampler.acceptances) == 1
    assert 0.05 < sampler.acceptance <= 1.0
    assert 0.05 < sampler.acceptances[0] <= 1.0
    assert Region.of("ab", groups=(Group(("a",), 0.5, 0.5),)).sampler.method == "point"


def test_equal_generators_give_equal_draws():
    region = SETS["floor binds"]
    one, other = (region.sample(np.random.default_rng(7), 50) for _ in range(2))
    assert one.tobytes() == other.tobytes()
