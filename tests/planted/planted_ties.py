"""Bugs to plant in the exactness of projections, on ties with bounds and in the residual, and the checks for them."""

import numpy as np
from hypothesis import assume, strategies as st
from planted_checks import nearest, property_check

from andrea_core.simplex import Region, divergence, fixup, projection, quick, ties
from andrea_core.testing.certificates import assert_member, assert_nearest
from andrea_core.testing.geometry import regions, vectors

OUT = [f"out-{i}" for i in range(40)]
SOUND_FIX_UP, SOUND_FIX_UP_ROWS = fixup.fix_up, fixup.fix_up_rows


def among_many(region):
    """Return the region with forty more sources, excluded: arrays take the place of plain numbers."""
    bounds = (dict(zip(region.names, side, strict=True)) for side in (region.stated.lower, region.stated.upper))
    return Region.of([*region.names, *OUT], *bounds, OUT)


def tied(rng):
    """Return a region, a vector to project and its exact projection, which meets bounds with equality.

    All are whole multiples of 2**-53, so that the vector is the projection plus a number without any rounding.
    """
    n = int(rng.integers(2, 10))
    cuts = np.sort(rng.integers(0, 2**53, n - 1, endpoint=True))
    w = np.diff(cuts, prepend=0, append=2**53) * 2.0**-53
    kind = rng.integers(0, 4, n)
    lower = np.where(kind == 0, w, np.where(kind == 1, 0.0, w * rng.random(n)))
    upper = np.where(kind == 2, w, np.where(kind == 1, 1.0, w + (1.0 - w) * rng.random(n)))
    names = [f"s{i}" for i in range(n)]
    region = Region.of(names, dict(zip(names, lower, strict=True)), dict(zip(names, upper, strict=True)))
    theta = int(rng.integers(-(2**53), 2**53)) * 2.0**-53 * (1.0 - w.max())
    return region, w + np.floor(theta * 2.0**53) * 2.0**-53, w


def hidden(rng):
    """Return what `tied` does, with a multiplier of more digits than a number has: b meets its floor with equality."""
    unit, fine = 2.0**-53, float(rng.integers(2**48, 2**50)) * 2.0**-59
    floor = int(3 * fine / unit + 2) * unit - 3 * fine + 2.0**-8  # 3 fine + floor is a multiple of the unit
    v_b = float(rng.integers(-(2**51), 0)) * unit
    both = 1.0 + 2 * v_b - (3 * fine + floor)
    first = float(rng.integers(int((v_b + 0.1) / unit), int((both - v_b - 0.1) / unit))) * unit
    region = Region.of("abcd", {"b": fine, "c": floor})
    truth = np.array([first - v_b + fine, fine, floor, both - first - v_b + fine])
    return region, np.array([first, v_b, v_b - 1.0, both - first]), truth


def assert_on_the_same_bounds(w, truth, region):
    for x, y, low, high in zip(w, truth, region.lower.tolist(), region.upper.tolist(), strict=True):
        assert y != low or x == low
        assert y != high or x == high
        assert abs(x - y) <= 1e-15


@property_check
def ties_stay_on_bounds(data):
    """A coordinate that the exact projection puts on a bound is on it, however it is computed."""
    make = data.draw(st.sampled_from((tied, hidden)))
    region, v, truth = make(np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))))
    many = among_many(region).project([*v, *np.zeros(40)])
    for w in (region.project(v), region.project([v] * 16)[11], many[: len(v)]):
        assert_on_the_same_bounds(w, truth, region)


@property_check
def ties_stay_on_bounds_kl(data):
    region, _, truth = tied(np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))))
    scale = 2.0 ** data.draw(st.integers(-9, 9))
    assume(truth.all())
    for w in (region.project(truth * scale, "kl"), region.project([truth * scale] * 16, "kl")[11]):
        assert_on_the_same_bounds(w, truth, region)


@property_check
def faces_are_exact(data):
    """The residual goes to sources strictly between their bounds: no bound is left by a unit in the last place."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    region = cut(rng)
    rows = region.sample(rng, 16) + rng.normal(size=(16, len(region.names))) / len(region.names)
    for how, batch in (("euclidean", rows), ("kl", np.maximum(rows, 1e-6))):
        for v, w in zip(batch, region.project(batch, how), strict=True):
            for found in (w, region.project(v, how)):
                off = np.minimum(found - region.lower, region.upper - found)
                # A single one between its bounds is what the others leave, however little that is.
                assert np.count_nonzero(off > 0) < 2 or off[off > 0].min() > 1e-14


def cut(rng):
    n = int(rng.integers(3, 20))
    witness = rng.dirichlet(np.ones(n))
    names = [f"s{i}" for i in range(n)]
    bounds = witness * rng.random(n), np.minimum(1.0, witness * (1.1 + rng.random(n)))
    return Region.of(names, *(dict(zip(names, side, strict=True)) for side in bounds))


def flat_stretch():
    """With d at its floor the sum rounds to 1, though it is not; exactly, all of a flat stretch on, d is at its cap."""
    floor = 0.1020408163265306
    caps = {"a": 0.0, "b": 0.0, "c": 0.02040816326530612, "d": float(np.nextafter(floor, 1.0))}
    region = Region.of("abcde", {"d": floor}, caps)
    for v in (np.zeros(5), np.ones(5)):
        for w in (region.project(v), region.project([v] * 16)[11], region.project(v + 1.0, "kl")):
            assert w[:4].tolist() == region.upper[:4].tolist()


@property_check
def nearest_among_many(data):
    region = data.draw(regions())
    v = [*data.draw(vectors(region)), *np.zeros(40)]
    many = among_many(region)
    w = many.project(v)
    assert_member(many, w)
    assert_nearest(many, v, w)


def two_newton_steps(values, box):
    v = np.array(values)
    theta = (v.sum() - 1.0) / len(v)
    for _ in range(2):
        x = v - theta
        theta += (box.clip(x).sum() - 1.0) / max(1, np.count_nonzero(box.clip(x) == x))
    return fixup.fix_up(v - theta, box)


def walls_not_looked_at(v, theta, box):
    return [min(max(a - theta, low), high) for a, (low, high) in zip(v, box.pairs, strict=True)]


def walled_without_doubt(v, theta, box):
    x = v - theta
    w = box.clip(x)
    inside = (x > box.lower) & (x < box.upper)
    return w, np.array([x >= box.upper, x >= box.upper, inside | (x >= box.upper), x >= box.upper]), int(inside.sum())


def ties_by_rounding(v, at_upper, between, tied, box, scales=False):
    return at_upper, between


def any_takes_it(w, box, movable=None):
    w = box.clip(w)
    rest = fixup.residual_rows(w[None], box.total)[0]
    room = box.upper - w if rest > 0 else w - box.lower
    j = room.argmax()
    w[j] = min(max(w[j] + rest, box.lower[j]), box.upper[j])
    return SOUND_FIX_UP(w, box, movable)


def any_takes_it_rows(rows, box):
    return SOUND_FIX_UP_ROWS(np.array([any_takes_it(row, box) for row in rows]), box)


BUGS = {
    "Newton not proved": (quick, "_of_few", two_newton_steps, nearest),
    "Newton not proved, arrays": (quick, "_of_many", two_newton_steps, nearest_among_many),
    "residual left": (quick, "_settled", lambda w, box: True, nearest),
    "residual left, arrays": (quick, "_balanced", lambda w, beyond, free, box: True, nearest_among_many),
    "doubt not looked at": (quick, "_sure", walls_not_looked_at, ties_stay_on_bounds),
    "doubt not looked at, arrays": (quick, "_walled", walled_without_doubt, ties_stay_on_bounds),
    "ties decided by rounding": (ties, "resolved", ties_by_rounding, flat_stretch),
    "ties decided by rounding, KL": (ties, "resolved", ties_by_rounding, ties_stay_on_bounds_kl),
    "any source takes the residual": (projection, "fix_up", any_takes_it, ties_stay_on_bounds),
    "any source takes the residual, KL": (divergence, "fix_up", any_takes_it, faces_are_exact),
    "any source takes the residual, rows": (projection, "fix_up_rows", any_takes_it_rows, faces_are_exact),
}
CHECKS = [ties_stay_on_bounds, ties_stay_on_bounds_kl, faces_are_exact, flat_stretch, nearest_among_many]
