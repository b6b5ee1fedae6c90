"""Hypothesis strategies for regions with group bounds and with rows, drawn around a witness as those of `geometry`."""

import numpy as np
from hypothesis import strategies as st

from andrea_core.simplex import Group, Region, Row
from andrea_core.testing.geometry import Stated, bounds_around, witnesses


@st.composite
def grouped_regions(draw: st.DrawFn, min_sources: int = 2, max_sources: int = 10) -> Region:
    """Draw regions with one to four disjoint groups that hold a witness k / D, feasible by construction.

    Each group is bounded below, above, on both sides, pinned at the witness, or within one unit of it.
    """
    names, witness, whole = draw(witnesses(min_sources, max_sources))
    stated: Stated = draw(bounds_around(names, witness, whole))
    order = draw(st.permutations(range(len(names))))
    groups = []
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(1, max(1, len(order))))
        members, order = order[:size], order[size:]
        if not members:
            break
        total = sum(witness[i] for i in members)
        low, high = draw(st.integers(0, total)), draw(st.integers(total, whole))
        low, high = draw(
            st.sampled_from(
                ((low, whole), (0, high), (low, high), (total, total), (max(total - 1, 0), min(total + 1, whole)))
            )
        )
        groups.append(Group(tuple(names[i] for i in members), low / whole, high / whole))
    return Region.of(stated.names, stated.floors, stated.caps, stated.exclude, groups=groups)


@st.composite
def infeasible_groups(draw: st.DrawFn) -> tuple[tuple[str, ...], dict[str, float], dict[str, float], list[Group]]:
    """Draw (names, floors, caps, groups) without any weights: groups that ask for too much or allow too little."""
    names = tuple(f"source-{i}" for i in range(draw(st.integers(2, 8))))
    cut = draw(st.integers(1, len(names) - 1))
    whole = draw(st.sampled_from((10, 49, 100, 2**20)))
    first = draw(st.integers(1, whole - 1))
    too_much = draw(st.integers(2, max(2, whole // 3)))
    low = [
        Group(names[:cut], at_least=first / whole),
        Group(names[cut:], at_least=min(1.0, 1 - (first - too_much) / whole)),
    ]
    high = [
        Group(names[:cut], at_most=first / whole),
        Group(names[cut:], at_most=max(0.0, 1 - (first + too_much) / whole)),
    ]
    kind = draw(st.sampled_from(("floors", "caps", "floor of a source", "caps of sources", "crossed")))
    if kind == "floors":
        return names, {}, {}, low
    if kind == "caps":
        return names, {}, {}, high
    if kind == "floor of a source":
        return names, {names[0]: first / whole}, {}, [Group(names[:cut], at_most=max(0.0, (first - too_much) / whole))]
    if kind == "caps of sources":
        caps = dict.fromkeys(names[:cut], first / whole / cut)
        return names, {}, caps, [Group(names[:cut], at_least=min(1.0, (first + too_much) / whole))]
    both = Group(names[:cut], at_least=first / whole), Group(names[:cut], at_most=max(0.0, (first - too_much) / whole))
    return names, {}, {}, list(both)


@st.composite
def regions_with_rows(draw: st.DrawFn, max_sources: int = 7, max_rows: int = 3) -> Region:
    """Draw regions with rows that hold a random point; some rows hold with equality everywhere."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(2, max_sources))
    names = tuple(f"source-{i}" for i in range(count))
    point = rng.dirichlet(np.ones(count))
    floors = {name: float(w * rng.random()) for name, w in zip(names, point, strict=True) if rng.random() < 0.4}
    caps = {name: float(w + (1 - w) * rng.random()) for name, w in zip(names, point, strict=True) if rng.random() < 0.4}
    rows = []
    for kind in draw(st.lists(st.sampled_from(("high", "low", "both", "equal")), min_size=1, max_size=max_rows)):
        coefficients = np.where(rng.random(count) < 0.7, rng.standard_normal(count), 0.0)
        coefficients[0] += 1.0
        value = float(coefficients @ point)
        slack = 0.0 if kind == "equal" else 0.2 * float(rng.random())
        low = -np.inf if kind == "high" else value - slack
        high = np.inf if kind == "low" else value + slack
        rows.append(Row(dict(zip(names, coefficients.tolist(), strict=True)), low, high))
    return Region.of(names, floors, caps, rows=rows)
