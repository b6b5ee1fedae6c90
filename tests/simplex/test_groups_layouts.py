"""Mean and covariance over layouts of groups: several that bind, with none, one or more sources outside."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from andrea_core.simplex import Group, Region
from andrea_core.simplex.groups import blocks, estimates, totals

LAYOUTS = (
    (2, 2, 1),
    (3, 2, 1),
    (3, 3, 1),
    (2, 2, 2),
    (1, 2, 2),
    (1, 1, 2, 1),
    (2, 2, 1, 1),
    (1, 1, 1, 1),
    (4, 1, 1),
    (3, 1, 2, 2),
)
WHOLE = 1000


@st.composite
def layouts(draw):
    """A region around a witness k / 1000 with a group for each size of a layout, the last one left open or not."""
    sizes = draw(st.sampled_from(LAYOUTS))
    count = sum(sizes)
    names = tuple(f"s{i}" for i in range(count))
    cuts = sorted(draw(st.lists(st.integers(1, WHOLE - 1), min_size=count - 1, max_size=count - 1)))
    witness = np.diff([0, *cuts, WHOLE])
    last = draw(st.booleans())
    groups, start = [], 0
    for size in sizes if last else sizes[:-1]:
        total = int(witness[start : start + size].sum())
        low = max(0, total - draw(st.integers(1, 200)))
        high = min(WHOLE, total + draw(st.integers(1, 200)))
        groups.append(Group(names[start : start + size], low / WHOLE, high / WHOLE))
        start += size
    capped = {names[i]: min(1.0, (int(witness[i]) + draw(st.integers(1, 500))) / WHOLE) for i in (0, count - 1)}
    return Region.of(names, {}, draw(st.sampled_from(({}, capped))), groups=groups)


@settings(max_examples=60)
@given(layouts())
def test_covariance_has_rows_that_sum_to_0_and_agrees_with_draws(region):
    covariance, mean = region.covariance_estimate(), region.mean_estimate()
    assert np.abs(covariance.value.sum(axis=1)).max() <= 1e-12 + covariance.error.sum(axis=1).max()
    assert np.linalg.eigvalsh(covariance.value).min() > -1e-12
    draws = region.sample(np.random.default_rng(3), 4000)
    made = estimates.covariance(draws)
    assert (np.abs(made.value - covariance.value) <= 6 * (made.error + covariance.error) + 1e-12).all()
    spread = np.sqrt(np.maximum(np.diag(covariance.value), 0.0) / len(draws))
    assert (np.abs(draws.mean(axis=0) - mean.value) <= 6 * (spread + mean.error) + 1e-12).all()


@settings(max_examples=60)
@given(layouts())
def test_means_sum_to_the_mass_before_anything_is_settled(region):
    if not region.groups.loose:
        return
    found, mass = blocks.blocks_of(region.groups)
    if len(found) <= 4:
        moments = totals.combined(totals.tabled(found, 1), mass, 1)
        assert math.fsum(moments.mean.tolist()) == pytest.approx(mass, abs=1e-12)


def test_the_one_source_outside_two_groups_takes_what_they_leave():
    """Where two sums are drawn at random, the fifth weight is 1 less both: its variance is that of the two together."""
    region = Region.of("abcde", groups=(Group(("a", "b"), 0.2, 0.6), Group(("c", "d"), 0.25, 0.7)))
    found = region.covariance_estimate()
    pairs = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0]]) @ found.value
    both = (pairs @ np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0]]).T).sum()
    assert found.method == "quadrature"
    assert found.value[4, 4] == pytest.approx(both, rel=1e-12)
